/** The chosen point beside today's rule, the deployed model, and the other goal. */

import { legendMark } from "./curve.js";
import { element, put, showIf } from "./elements.js";
import { asSentence, difference, inUnit, people } from "./figures.js";

const COUNTS = [
  ["accepted", ({ per }) => Math.round(per.tp) + Math.round(per.fp)],
  ["accepted rightly", ({ per }) => per.tp],
  ["accepted wrongly", ({ per }) => per.fp],
  ["missed", ({ per }) => per.fn],
];

/** The table: a row for each number, a column for each rule. */
export class Against {
  /**
   * @param {object} board
   * @param {object[]} markers with `name`, `words` and `state`
   * @param {number} per rows that counts refer to
   */
  constructor(board, markers, per) {
    this.markers = markers;
    this.rows = [
      quantity(board.objective, ({ objective }) => objective.value),
      ...board.constraints.map((side, i) => quantity(side, ({ constraints }) => constraints[i].value)),
      ...COUNTS.map(([words, read], i) => ({
        words: i ? words : `${words}, of ${people(per)}`, unit: null, read, indent: i > 0,
      })),
    ].map((row) => this.row(row));
    this.rivalHead = element("th", { scope: "col" }, "the other goal");
    this.node = element(
      "section",
      { class: "against" },
      element("h2", {}, "Compared"),
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Compared" },
        element(
          "table",
          {},
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              element("td", {}, element("span", { class: "spoken" }, "What")),
              element("th", { scope: "col" }, "this point"),
              ...markers.map(({ name }, i) => element("th", { scope: "col" }, legendMark(i), name)),
              this.rivalHead,
            ),
          ),
          element("tbody", {}, ...this.rows.map(({ node }) => node)),
        ),
      ),
      ...markers
        .filter(({ words }) => words)
        .map(({ name, words }) => element("p", { class: "hint" }, `${asSentence(name)}: ${words}.`)),
      element("p", { class: "hint" }, "The small number says how far this point lies from that column."),
    );
  }

  row({ words, unit, read, indent }) {
    const cells = [null, ...this.markers, null].map(() => {
      const [value, gap] = [element("span"), element("small")];
      return { value, gap, node: element("td", {}, value, gap) };
    });
    const head = element("th", { scope: "row", class: indent ? "indent" : null }, words);
    return { unit, read, cells, node: element("tr", {}, head, ...cells.map(({ node }) => node)) };
  }

  /** @param {object} point @param {object|null} rival the state of the other goal */
  update(point, rival) {
    showIf(this.node, rival !== null || this.markers.length > 0);
    showIf(this.rivalHead, rival !== null);
    for (const { unit, read, cells } of this.rows) {
      const own = read(point);
      const write = (x) => (unit === null ? people(x) : inUnit(x, unit));
      put(cells[0].value, write(own));
      const others = [...this.markers.map(({ state }) => state), rival];
      others.forEach((state, i) => {
        const cell = cells[i + 1];
        showIf(cell.node, state !== null);
        if (state === null) return;
        const value = read(state);
        put(cell.value, write(value));
        put(cell.gap, unit === null ? inPeople(Math.round(own) - Math.round(value)) : difference(own - value, unit));
      });
    }
  }
}

const quantity = ({ words, unit }, read) => ({ words: asSentence(words), unit, read, indent: false });

const inPeople = (x) => {
  if (x === 0) return "the same";
  return `${x < 0 ? "\u2212" : "+"}${people(Math.abs(x))}`;
};
