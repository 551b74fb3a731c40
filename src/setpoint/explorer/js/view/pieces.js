/** The rows by what is decided, as a bar in four pieces with their counts below. */

import { drawing, element, put, setOn } from "./elements.js";
import { people } from "./figures.js";

const PIECES = [
  ["hit", "accepted rightly", "tp"],
  ["alarm", "accepted wrongly", "fp"],
  ["miss", "missed", "fn"],
  ["rest", "left out rightly", "tn"],
];

/** The bar and the sentence above it. */
export class Pieces {
  /**
   * @param {number} per rows that the counts refer to
   * @param {string} positive the positive class in words
   */
  constructor(per, positive) {
    this.per = per;
    this.positive = positive;
    this.rects = PIECES.map(([kind]) => drawing("rect", { class: kind, y: 0, height: 26 }));
    this.lines = PIECES.map((_, i) =>
      drawing("line", { y1: 27, y2: 46, x2: `${12.5 + 25 * i}%` }),
    );
    this.counts = PIECES.map(() => element("b"));
    this.sentence = element("p", { class: "people" });
    this.node = element(
      "div",
      {},
      this.sentence,
      element(
        "div",
        { class: "pieces n4", "aria-hidden": "true" },
        drawing("svg", {}, ...this.rects, ...this.lines),
        element("ul", {}, ...PIECES.map(([, words], i) => element("li", {}, this.counts[i], words))),
      ),
    );
  }

  /** @param {object} found the confusion per so many rows: tp, fp, fn, tn */
  update(found) {
    const parts = PIECES.map(([, , key]) => found[key]);
    const total = parts.reduce((sum, x) => sum + x, 0) || 1;
    let start = 0;
    parts.forEach((part, i) => {
      const width = (100 * part) / total;
      setOn(this.rects[i], "x", `${start.toFixed(3)}%`);
      setOn(this.rects[i], "width", `${width.toFixed(3)}%`);
      setOn(this.lines[i], "x1", `${(start + width / 2).toFixed(3)}%`);
      put(this.counts[i], people(part));
      start += width;
    });
    put(this.sentence, peopleSentence(this.per, this.positive, found));
  }
}

/** How many of so many rows are accepted, rightly and wrongly, and missed. */
export const peopleSentence = (per, positive, { tp, fp, fn }) => {
  const accepted = people(tp + fp);
  const start = `Of ${people(per)} rows like these ${accepted} are accepted`;
  const split = tp + fp > 0 ? `: ${people(tp)} rightly, ${people(fp)} wrongly` : "";
  return `${start}${split}; ${people(fn)} of ${positive} are missed.`;
};
