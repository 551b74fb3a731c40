/** What is asked for: a slider for each bound with its number beside it, and how sure it must be. */

import { element, put, setOn, showIf } from "./elements.js";
import { asSentence, askedFor, boundInUnit, fromControl, inUnit, toControl } from "./figures.js";

let controls = 0;

/** The slider and the number of one bound. */
class BoundControl {
  /**
   * @param {object} constraint
   * @param {(level: number) => void} changed
   */
  constructor(constraint, changed) {
    const { unit, range, step, relation } = constraint;
    Object.assign(this, { constraint, level: NaN, ends: range.map((x) => toControl(x, unit)) });
    const [min, max] = this.ends;
    const id = `bound${(controls += 1)}`;
    const words = asSentence(constraint.words);
    const side = relation === ">=" ? "at least" : "at most";
    const common = { min, max, step: toControl(step, unit) };
    const says = `${words}, ${side}${unit === "share" ? ", in per cent" : ""}`;
    this.slider = element("input", {
      ...common, id, type: "range", "aria-label": says, oninput: () => changed(this.read(this.slider)),
    });
    this.number = element("input", {
      ...common, type: "number", step: "any", "aria-label": `${says}, as a number`,
      // Half a number, such as "0." on the way to 0.5, is not a bound yet.
      oninput: () => this.typed() && changed(this.read(this.number)),
      onchange: () => this.write(this.number, this.level),
    });
    this.reach = element("i", { class: "reach" });
    this.here = element("i", { class: "here" });
    this.hint = element("p", { class: "hint" });
    this.node = element(
      "div",
      { class: "bound" },
      element("label", { for: id }, element("b", {}, words), ` ${side}`),
      element(
        "div",
        { class: "row" },
        element("div", { class: "track" }, this.reach, this.slider, this.here),
        this.number,
        unit === "share" ? element("span", { "aria-hidden": "true" }, "%") : null,
      ),
      this.hint,
    );
  }

  read(input) {
    return fromControl(Number(input.value), this.constraint.unit);
  }

  typed() {
    const { value } = this.number;
    const [low, high] = this.ends;
    return value.trim() !== "" && Number(value) >= low && Number(value) <= high;
  }

  write(input, level) {
    const text = String(toControl(level, this.constraint.unit));
    if (input.value !== text) input.value = text;
  }

  /**
   * @param {number} level the bound
   * @param {number} value the left side at the chosen point
   * @param {number|null} most what the left side reaches at best, with the other bounds kept
   * @param {number|null} sure how sure that must be
   */
  update(level, value, most, sure) {
    const { unit, relation, range } = this.constraint;
    const up = relation === ">=";
    this.level = level;
    this.write(this.slider, level);
    setOn(this.slider, "aria-valuetext", boundInUnit(level, unit));
    // Who types is not corrected in the middle of a number.
    if (document.activeElement !== this.number) this.write(this.number, level);
    const part = (x) => Math.min(Math.max((x - range[0]) / (range[1] - range[0]), 0), 1);
    const end = most === null ? (up ? 0 : 1) : part(most);
    this.span(this.reach, up ? 0 : end, up ? end : 1);
    showIf(this.here, Number.isFinite(value));
    if (Number.isFinite(value)) this.span(this.here, part(value), part(value));
    const word = up ? "most" : "least";
    put(
      this.hint,
      most === null
        ? `Reached: ${inUnit(value, unit)}. The other bounds cannot be kept.`
        : `Reached: ${inUnit(value, unit)}. The ${word} that ${sure ? "can be shown" : "the other bounds leave"}: ${inUnit(most, unit)}.`,
    );
  }

  span(node, from, to) {
    node.style.setProperty("--from", from.toFixed(4));
    node.style.setProperty("--to", to.toFixed(4));
  }
}

/** All bounds of a goal, and how sure. */
export class Bounds {
  /**
   * @param {object} board
   * @param {string|null} why "how sure" cannot be asked for, if so
   * @param {{level, sure, reset}} changed what to call
   */
  constructor(board, why, changed) {
    this.board = board;
    this.controls = board.constraints.map((constraint, i) =>
      constraint.movable ? new BoundControl(constraint, (x) => changed.level(i, x)) : null,
    );
    const fixed = board.constraints.filter(({ movable }) => !movable);
    this.sure = element(
      "select",
      { onchange: () => changed.sure(Number(this.sure.value) || null) },
      element("option", { value: "" }, "not asked"),
      ...board.sureLevels.map((x) =>
        element("option", { value: x }, `${boundInUnit(x, "share").replace(" ", "\u00a0")} sure`),
      ),
    );
    this.sure.disabled = board.sureLevels.length === 0;
    const because = this.sure.disabled ? why ?? "" : "";
    this.reset = element("button", { type: "button", onclick: changed.reset, hidden: !this.controls.some(Boolean) }, "Bounds as written");
    this.node = element(
      "div",
      { class: "bounds" },
      ...this.controls.map((control) => control && control.node),
      ...fixed.map((c) =>
        element("p", { class: "fixed" }, element("b", {}, asSentence(c.words)), ` ${askedText(c)}`),
      ),
      board.constraints.length ? element("label", { class: "sure" }, element("span", {}, "How sure on new rows"), this.sure) : null,
      because ? element("p", { class: "hint" }, because) : null,
    );
  }

  /** @param {{levels, sure}} asked @param {object} point @param {object[]} most */
  update(asked, point, most) {
    this.controls.forEach((control, i) => {
      if (control) control.update(asked.levels[i], point.constraints[i].value, most[i].value, asked.sure);
    });
    const sure = asked.sure === null ? "" : String(asked.sure);
    if (this.sure.value !== sure) this.sure.value = sure;
    this.reset.disabled = asked.levels.every((x, i) => x === this.board.levels[i]);
  }
}

const askedText = ({ relation, level, unit }) => askedFor(relation, level, unit);
