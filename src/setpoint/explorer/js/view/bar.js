/** A value, its limits and its bound on an axis, as in the report, but ready to be moved. */

import { drawing, setOn } from "./elements.js";

const place = (axis, x) => `${(100 * axis.at(x)).toFixed(2)}%`;

/** One such picture. */
export class PlotBar {
  /** @param {number} rings how many other values may be marked */
  constructor(rings) {
    this.allowed = drawing("rect", { class: "allowed", y: 3, height: 22 });
    this.interval = drawing("rect", { class: "interval", y: 10, height: 8, rx: 2 });
    this.bound = drawing("line", { class: "bound", y1: 1, y2: 27 });
    this.rings = Array.from({ length: rings }, () =>
      drawing("circle", { class: "ring", cy: 14, r: 5 }),
    );
    this.dot = drawing("circle", { class: "dot", cy: 14, r: 5 });
    this.ticks = drawing("use", { class: "ticks", href: "#ticks" });
    this.node = drawing(
      "svg",
      { class: "bar", "aria-hidden": "true" },
      this.allowed,
      this.ticks,
      drawing("line", { class: "axis", x1: 0, x2: "100%", y1: 14, y2: 14 }),
      this.interval,
      this.bound,
      ...this.rings,
      this.dot,
    );
  }

  /**
   * @param {object} axis
   * @param {{value, low, high, level, relation, others}} shown what is null is not drawn
   */
  update(axis, { value, low = null, high = null, level = null, relation = null, others = [] }) {
    setOn(this.ticks, "visibility", axis.shared ? "visible" : "hidden");
    this.span(this.allowed, level === null ? null : axis, [
      relation === ">=" ? level : axis.first,
      relation === ">=" ? axis.last : level,
    ]);
    const known = low !== null && high !== null && !Number.isNaN(low + high);
    this.span(this.interval, known ? axis : null, [low, high]);
    this.mark(this.bound, axis, level, ["x1", "x2"]);
    this.mark(this.dot, axis, value, ["cx"]);
    this.rings.forEach((ring, i) => this.mark(ring, axis, others[i] ?? null, ["cx"]));
  }

  span(node, axis, [from, to]) {
    setOn(node, "visibility", axis ? "visible" : "hidden");
    if (!axis) return;
    setOn(node, "x", place(axis, from));
    setOn(node, "width", `${(100 * Math.max(axis.at(to) - axis.at(from), 0)).toFixed(2)}%`);
  }

  mark(node, axis, x, names) {
    const drawn = x !== null && Number.isFinite(x);
    setOn(node, "visibility", drawn ? "visible" : "hidden");
    if (drawn) for (const name of names) setOn(node, name, place(axis, x));
  }
}
