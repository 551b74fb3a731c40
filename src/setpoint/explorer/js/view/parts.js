/** What was asked, part by part: one row for the objective and for each bound. */

import { axisFor, extent } from "./axes.js";
import { PlotBar } from "./bar.js";
import { element, put, setOn, sign, toneOn } from "./elements.js";
import { askedFor, asSentence, inUnit, limitsInWords } from "./figures.js";

const HEAD = ["Part of the goal", "Value", "Asked", "On new rows", "Verdict"];

const EXPLAINED =
  "The dot is what was counted, the upright stroke the bound. The thick bar is where the value is " +
  "on new rows, each end with 95 % confidence, for a cut-off that these rows did not choose.";

/** The axis that holds a part at all cut-offs, its bound wherever it is drawn, and the markers. */
const axisOf = ({ unit, range = [] }, values, markers) => {
  const found = extent(values) ?? [0, 1];
  return axisFor([...found, ...(unit === "share" ? [] : range), ...markers], unit);
};

/** The table. */
export class Parts {
  /**
   * @param {object} board
   * @param {object[]} markers with the state of each as `state`
   */
  constructor(board, markers) {
    Object.assign(this, { board, markers });
    const sides = [board.objective, ...board.constraints];
    this.rows = sides.map((side, i) => {
      const others = markers.map(({ state }) => (i ? state.constraints[i - 1] : state.objective).value);
      const values = i ? board.sides[i - 1] : board.values;
      return new PartRow(side, axisOf(side, values, others), others);
    });
    const shared = this.rows.some(({ axis }) => axis.shared);
    const plotHead = element(
      "th",
      { scope: "col", class: "plot" },
      shared ? element("span", { class: "ends", "aria-hidden": "true" }) : null,
      element("span", { class: "spoken" }, "On an axis"),
    );
    const [first, ...rest] = HEAD.map((text) => element("th", { scope: "col" }, text));
    const hint = element("p", { class: "hint" });
    put(hint, EXPLAINED + (markers.length ? ` Rings: ${markers.map(({ name }) => name).join(", ")}.` : ""));
    this.node = element(
      "section",
      {},
      element("h2", {}, "What was asked"),
      element(
        "table",
        { class: "parts" },
        element("thead", {}, element("tr", {}, first, plotHead, ...rest)),
        element("tbody", {}, ...this.rows.map(({ node }) => node)),
      ),
      hint,
    );
  }

  /**
   * @param {object} point
   * @param {number[]} levels
   * @param {boolean[]} met
   * @param {number|null} sure the level at which all bounds are shown; null if they are not
   */
  update(point, levels, met, sure) {
    this.rows[0].update(point.objective, null, this.board.sense > 0 ? "as high as possible" : "as low as possible", ["plain", "Objective"]);
    this.board.constraints.forEach((constraint, i) => {
      const word = met[i] ? (sure ? ["shown", "Shown"] : ["open", "Met here"]) : ["fails", "Not met"];
      const asked = askedFor(constraint.relation, levels[i], constraint.unit);
      this.rows[i + 1].update(point.constraints[i], levels[i], asked, word);
    });
  }
}

/** One row. */
class PartRow {
  constructor(side, axis, others) {
    Object.assign(this, { side, axis, others });
    this.bar = new PlotBar(others.length);
    [this.asked, this.limits, this.word] = [0, 1, 2].map(() => element("span"));
    this.value = element("b");
    this.sign = sign();
    this.verdict = element("td", {}, this.sign, this.word);
    this.node = element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        asSentence(side.words),
        element("code", {}, side.text.split(/ [<>]= /)[0]),
      ),
      element("td", { class: "plot" }, this.bar.node, this.ends()),
      element("td", { "data-head": "Value" }, this.value),
      element("td", { "data-head": "Asked" }, this.asked),
      element("td", { class: "limits", "data-head": "On new rows" }, this.limits),
      this.verdict,
    );
  }

  ends() {
    const { axis, side } = this;
    const own = axis.shared ? [] : [axis.first, axis.last].map((x) => element("span", {}, inUnit(x, side.unit)));
    return element("span", { class: axis.shared ? "ends" : "ends own", "aria-hidden": "true" }, ...own);
  }

  update(found, level, asked, [tone, word]) {
    const { value, low, high } = found;
    const { side, axis, others } = this;
    this.bar.update(axis, { value, low, high, level, relation: side.relation, others });
    put(this.value, inUnit(value, side.unit));
    put(this.asked, asked);
    put(this.limits, limitsInWords(found, side.unit) || "-");
    setOn(this.verdict, "class", `verdict ${tone}`);
    toneOn(this.sign, tone);
    put(this.word, word);
  }
}
