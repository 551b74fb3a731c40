/** What the chosen point means, in a box: whether the bounds are met, and the rule in words. */

import { element, put, setOn, showIf, sign, toneOn } from "./elements.js";
import { askedFor, asSentence, boundInUnit, inUnit, limitsInWords } from "./figures.js";

/**
 * How the bounds stand.
 * @param {object} asked what is asked for: levels, sure, where
 * @param {boolean[]} met
 * @param {boolean} certain whether limits that hold for all cut-offs at once clear the bounds
 * @param {object|null} choice how the point was chosen; null where it was chosen by hand
 */
export const standing = ({ sure }, met, certain, choice) => {
  if (met.length === 0) return ["plain", "No bounds are asked for"];
  if (choice !== null && !choice.feasible) {
    return ["fails", sure === null ? "No cut-off does that" : "No cut-off does that for sure"];
  }
  const missed = met.filter((x) => !x).length;
  if (missed > 0) return ["fails", missed === met.length ? "Not met" : `${missed} of ${met.length} bounds not met`];
  if (sure !== null && certain) return ["shown", `Shown at ${boundInUnit(sure, "share")}`];
  return ["open", "Met on these rows"];
};

const MEANS = {
  shown:
    "The limits that clear the bounds hold for all cut-offs at once, so this is true whichever is chosen.",
  open: "Counted on the rows that chose it, which flatters it: on new rows a bound may be missed.",
};

/** "Recall is 62.3 % (on new rows 60.1 % to 64.5 %)". */
export const reachedInWords = ({ words, unit }, found) => {
  const limits = limitsInWords(found, unit);
  const known = limits ? ` (on new rows ${limits})` : "";
  return `${asSentence(words)} is ${inUnit(found.value, unit)}${known}`;
};

/** The rule as a sentence. */
export const ruleInWords = (rule) => `${asSentence(rule)}.`;

/** The box. */
export class Outcome {
  /**
   * @param {object} board
   * @param {(i: number, level: number) => void} loosen called with a bound that can be met
   */
  constructor(board, loosen) {
    this.board = board;
    this.sign = sign();
    this.word = element("strong");
    this.rule = element("p", { class: "says" });
    this.reached = element("p");
    this.means = element("p", { class: "hint" });
    this.gap = element("p", { class: "hint" });
    this.ways = board.constraints.map((constraint, i) => {
      const way = { text: element("span"), level: null };
      way.button = element("button", { type: "button", onclick: () => loosen(i, way.level) });
      way.node = element("li", {}, way.text, way.button);
      return way;
    });
    this.below = element("p", { class: "hint" });
    this.nearest = element(
      "div",
      { class: "nearest" },
      element("ul", { class: "advice" }, ...this.ways.map(({ node }) => node)),
      this.below,
    );
    this.node = element(
      "section",
      { class: "box", "aria-label": "Outcome" },
      element("p", { class: "word" }, this.sign, this.word),
      this.nearest,
      this.rule,
      this.reached,
      this.means,
      this.gap,
    );
  }

  /**
   * @param {[string, string]} stands tone and word
   * @param {object} point
   * @param {object|null} choice how it was chosen; null where it was chosen by hand
   * @param {object[]} most what each constraint reaches with the others kept
   * @param {number|null} sure how sure that must be
   */
  update([tone, word], point, choice, most, sure) {
    setOn(this.node, "class", `box ${tone}`);
    toneOn(this.sign, tone);
    put(this.word, word);
    put(this.rule, ruleInWords(point.rule));
    put(this.reached, `${reachedInWords(this.board.objective, point.objective)}.`);
    const impossible = choice !== null && !choice.feasible;
    showIf(this.nearest, impossible);
    if (impossible) this.offer(most, sure);
    const ask = sure === null && this.board.sureLevels.length ? " Ask how sure it must be." : "";
    put(this.means, impossible || !MEANS[tone] ? "" : MEANS[tone] + (tone === "open" ? ask : ""));
    put(this.gap, impossible ? "" : gapInWords(choice, this.board));
  }

  offer(most, sure) {
    put(
      this.below,
      sure === null
        ? "Below is what comes nearest."
        : "Below is what these rows alone would choose; on new rows the bounds are not shown.",
    );
    this.ways.forEach((way, i) => {
      const constraint = this.board.constraints[i];
      const { value } = most[i];
      const known = constraint.movable && value !== null && Number.isFinite(value);
      showIf(way.node, known);
      if (!known) return;
      const { relation, unit, words } = constraint;
      way.level = loosened(constraint, value);
      const end = relation === ">=" ? "most" : "least";
      const shown = sure === null ? "" : `, shown at ${boundInUnit(sure, "share")}`;
      put(way.text, `${asSentence(words)}: ${inUnit(value, unit)} is the ${end} that the other bounds leave${shown}.`);
      put(way.button, `Ask for ${askedFor(relation, way.level, unit)}`);
    });
  }
}

/** A bound that a value meets, in steps of its slider. */
export const loosened = ({ relation, step, range }, value) => {
  const steps = value / step;
  const down = relation === ">=";
  const whole = down ? Math.floor(steps + 1e-9) : Math.ceil(steps - 1e-9);
  const rounded = Number((whole * step).toPrecision(12));
  const kept = Math.min(Math.max(rounded, range[0]), range[1]);
  return (down ? kept <= value : kept >= value) ? kept : value;
};

/** What no other rule could gain, in words that follow the sense of the goal. */
const gapInWords = (choice, { objective: { unit }, constraints, sense }) => {
  if (choice === null) return "This point was chosen by hand; the bounds follow it.";
  const better = sense > 0 ? "higher" : "lower";
  const more = choice.gap > 1e-9;
  const gap = unit === "share" ? `${(100 * choice.gap).toPrecision(2)} points` : inUnit(choice.gap, unit);
  if (choice.gap === null) return `Of all cut-offs that are shown to meet the bounds none here is ${better}.`;
  if (!more) return `Of all cut-offs${constraints.length ? " that are allowed" : ""} none is ${better}.`;
  return `Neighbouring scores were joined: a cut-off between two of those shown could gain ${gap} at most.`;
};
