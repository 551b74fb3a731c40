/**
 * The points that were kept, at most five, to take to a meeting; and their check on rows held
 * out. Who looks at these rows, and chooses once more, has chosen by them too: looks are counted.
 */

import { goalText } from "../take.js";
import { element, put, showIf } from "./elements.js";
import { asSentence, inUnit, limitsInWords, ordinal, people } from "./figures.js";

/** What the number of looks means. */
export const looksInWords = (count) => {
  if (count === 0) return "Nobody has looked at these rows yet.";
  if (count === 1) return "First look: these rows took no part in the choice.";
  return `${ordinal(count)} look: these rows are no longer untouched, and what they show flatters the choice.`;
};

/** The table of kept points. */
export class Shortlist {
  /**
   * @param {object} data
   * @param {{back, remove, check}} calls what to do with the point of an index
   */
  constructor(data, calls) {
    Object.assign(this, { data, calls });
    this.body = element("tbody");
    this.looks = element("p", { class: "looks" });
    this.where = element("p", { class: "hint" });
    put(this.where, data.check ? `Held-out rows: ${data.check.where}` : "No rows are held out, so nothing here can check a point: give some when the page is made.");
    const heads = ["", "Goal", "Reached", `Accepted of ${people(data.payload.per)}`, "On rows held out", ""];
    this.node = element(
      "section",
      { class: "shortlist", hidden: true },
      element("h2", {}, "Kept points"),
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kept points" },
        element(
          "table",
          {},
          element("thead", {}, element("tr", {}, ...heads.map((x) => element("th", { scope: "col" }, x)))),
          this.body,
        ),
      ),
      this.looks,
      this.where,
    );
  }

  /** @param {object[]} kept @param {number} looks how often rows held out were looked at */
  update(kept, looks) {
    showIf(this.node, kept.length > 0);
    put(this.looks, this.data.check ? looksInWords(looks) : "");
    this.body.replaceChildren(...kept.map((point, i) => this.row(point, i)));
  }

  row(point, i) {
    const board = this.data.programs[point.program];
    const state = board.at(point.where);
    const button = (words, act) =>
      element("button", { type: "button", "aria-label": `${words}: point ${i + 1}`, onclick: () => act(i) }, words);
    const check = !this.data.check
      ? "-"
      : point.looked
        ? checked(board, point)
        : button("Check on held-out rows", this.calls.check);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, String(i + 1)),
      element("td", {}, element("code", {}, goalText(board, point.levels)), element("small", {}, state.rule)),
      element("td", {}, reachedList(board, withoutLimits(state), (i) => metInWords(board, state, point.levels, i))),
      element("td", {}, people(state.per.tp + state.per.fp)),
      element("td", {}, check),
      element("td", {}, element("p", { class: "tools" }, button("Go back", this.calls.back), button("Remove", this.calls.remove))),
    );
  }
}

/** What a point reaches on rows held out, with a verdict; or why that cannot be counted. */
const checked = (board, { where, levels }) => {
  const found = board.checkAt(where);
  return found.why ?? reachedList(board, found, (i) => verdictOf(board, found, levels, i));
};

/** What limits say of a bound: each end is wrong in at most 5 % of samples. */
const verdictOf = (board, found, levels, i) => {
  const { low, high } = found.constraints[i];
  if (!limitsInWords({ low, high }, "number")) return metInWords(board, found, levels, i);
  const up = board.constraints[i].relation === ">=";
  const holds = [low, high].filter((x) => (up ? x >= levels[i] : x <= levels[i])).length;
  return [": shown to fail", ": too close to call", ": shown"][holds];
};

/** What was counted, for limits do not hold for a point that was chosen by it. */
const withoutLimits = ({ objective, constraints }) => ({
  objective: { value: objective.value, low: null, high: null },
  constraints: constraints.map(({ value }) => ({ value, low: null, high: null })),
});

const metInWords = (board, found, levels, i) => (board.met(found, levels)[i] ? "" : ": not met");

/** Objective and constraints of a point, a line each, and what is said of each constraint. */
const reachedList = (board, state, say) => {
  const line = ({ words, unit }, found, note) => {
    const node = element("li");
    const limits = limitsInWords(found, unit);
    const between = limits ? ` (${limits})` : "";
    put(node, `${asSentence(words)} ${inUnit(found.value, unit)}${between}${note}`);
    return node;
  };
  return element(
    "ul",
    { class: "values" },
    line(board.objective, state.objective, ""),
    ...board.constraints.map((side, i) => line(side, state.constraints[i], say(i))),
  );
};
