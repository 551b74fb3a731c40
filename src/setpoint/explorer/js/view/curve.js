/**
 * All cut-offs in one picture, with the chosen one as a dot that can be dragged. The line is made
 * once; a drag moves the dot, the bounds and the shading, and nothing else.
 */

import { ticksOf } from "./axes.js";
import { drawing, element, put, setOn, showIf } from "./elements.js";
import { boundInUnit } from "./figures.js";
import { nearestAlong, picturesOf, stretches, thinned } from "./pictures.js";

const ROOM = { left: 54, right: 26, top: 30, bottom: 44 };
const KEY_STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 50, PageDown: -50 };
let pictures = 0;

/** The picture, its switch between three views, and its legend. */
export class Curve {
  /**
   * @param {object} board
   * @param {{positive: string, per: number, markers: object[], moved: (cut: number) => void}} page
   */
  constructor(board, page) {
    Object.assign(this, { board, page, shown: 0, width: 0, state: null });
    this.pictures = picturesOf(board, page.positive);
    this.lines = this.pictures.map(() => null);
    this.build();
    this.listen();
    new ResizeObserver(() => requestAnimationFrame(() => this.resized())).observe(this.frame);
  }

  build() {
    this.grid = drawing("g", { class: "grid" });
    this.shade = drawing("path", { class: "allowed" });
    this.line = drawing("path", { class: "line" });
    this.limits = [0, 1].map(() => drawing("line", { class: "bound", visibility: "hidden" }));
    this.rings = this.page.markers.map((marker, i) => ringOf(i));
    this.other = drawing("circle", { class: "ring second", r: 6, visibility: "hidden" });
    this.dot = drawing(
      "g",
      { class: "handle", role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": this.page.per },
      drawing("circle", { class: "touch", r: 22 }),
      drawing("circle", { class: "dot", r: 8 }),
    );
    setOn(this.dot, "aria-label", `Point on the curve: accepted of ${this.page.per} rows`);
    this.svg = drawing(
      "svg",
      { class: "curve" },
      this.grid, this.shade, this.line, ...this.limits, ...this.rings, this.other, this.dot,
    );
    this.frame = element("div", { class: "frame" }, this.svg);
    const name = `picture${(pictures += 1)}`;
    const choices = this.pictures.map(({ name: words }, i) =>
      element(
        "label",
        {},
        element("input", { type: "radio", name, checked: i === 0, onchange: () => this.show(i) }),
        element("span", {}, words),
      ),
    );
    this.onLine = element("li", {}, legendSign("dot"), element("span", {}, "the chosen point"));
    this.second = element("li", { hidden: true }, legendSign("ring second"), "the other goal");
    this.bounded = this.board.constraints.length > 0;
    const legend = element(
      "ul",
      { class: "legend" },
      this.onLine,
      ...this.page.markers.map((marker, i) => element("li", {}, legendMark(i), marker.name)),
      this.second,
      this.bounded ? element("li", {}, element("i", { class: "swatch" }), element("span", {}, "allowed")) : null,
    );
    this.node = element(
      "section",
      { class: "every" },
      element("h2", {}, "Every cut-off"),
      element("fieldset", { class: "switch" }, element("legend", { class: "spoken" }, "Picture"), ...choices),
      this.frame,
      legend,
    );
  }

  listen() {
    const drag = (event) => {
      const [picture, axis] = [this.pictures[this.shown], this.pictures[this.shown].axes[0]];
      const along = (event.clientX - this.svg.getBoundingClientRect().left - ROOM.left) / this.across;
      const wanted = axis.first + Math.min(Math.max(along, 0), 1) * (axis.last - axis.first);
      this.page.moved(nearestAlong(picture.x, wanted));
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.svg.setPointerCapture(event.pointerId);
      this.dot.focus({ preventScroll: true });
      drag(event);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (this.svg.hasPointerCapture(event.pointerId)) drag(event);
    });
    this.dot.addEventListener("keydown", (event) => {
      const cut = this.stepped(event.key);
      if (cut === null) return;
      event.preventDefault();
      this.page.moved(cut);
    });
  }

  /** The cut-off that a key leads to; null for other keys. Arrows move by one row in 1,000. */
  stepped(key) {
    const last = this.board.n - 1;
    if (key === "Home") return 0;
    if (key === "End") return last;
    const step = KEY_STEPS[key];
    if (step === undefined) return null;
    const now = this.state.cut ?? this.board.cutAtShare(this.share());
    const next = this.board.cutAtShare(this.board.curve.share[now] + step / this.page.per);
    return Math.min(Math.max(next === now ? now + Math.sign(step) : next, 0), last);
  }

  share() {
    return this.state.confusion.accepted / this.state.confusion.total;
  }

  show(i) {
    this.shown = i;
    this.redraw();
  }

  resized() {
    const width = Math.round(this.frame.clientWidth);
    if (width === this.width || width === 0) return;
    this.width = width;
    this.lines.fill(null);
    this.redraw();
  }

  /** Axes and line, after a change of size or picture. */
  redraw() {
    if (this.width === 0) return;
    this.height = Math.round(Math.min(Math.max(this.width * 0.56, 240), 400));
    this.across = this.width - ROOM.left - ROOM.right;
    this.up = this.height - ROOM.top - ROOM.bottom;
    setOn(this.svg, "viewBox", `0 0 ${this.width} ${this.height}`);
    const picture = this.pictures[this.shown];
    this.grid.replaceChildren(...this.gridOf(picture));
    this.lines[this.shown] ??= this.lineOf(picture);
    setOn(this.line, "d", this.lines[this.shown]);
    if (this.state) this.page.again();
  }

  x(value) {
    return ROOM.left + this.across * this.pictures[this.shown].axes[0].at(value);
  }

  y(value) {
    return ROOM.top + this.up * (1 - this.pictures[this.shown].axes[1].at(value));
  }

  lineOf({ x, y }) {
    const at = (i) => `${this.x(x[i]).toFixed(1)} ${this.y(y[i]).toFixed(1)}`;
    const places = thinned(x, y).map(at);
    return places.length ? `M${places.join("L")}` : "";
  }

  gridOf({ axes, units, across, up }) {
    const [right, bottom] = [ROOM.left + this.across, ROOM.top + this.up];
    const parts = [];
    const label = (x, y, anchor, text) => {
      const node = drawing("text", { x, y, "text-anchor": anchor });
      put(node, text);
      parts.push(node);
    };
    for (const tick of ticksOf(axes[1], this.height < 300 ? 4 : 5)) {
      const y = this.y(tick).toFixed(1);
      parts.push(drawing("line", { x1: ROOM.left, x2: right, y1: y, y2: y }));
      label(ROOM.left - 8, Number(y) + 4, "end", boundInUnit(tick, units[1]));
    }
    for (const tick of ticksOf(axes[0], this.width < 480 ? 4 : 6)) {
      const x = this.x(tick).toFixed(1);
      parts.push(drawing("line", { x1: x, x2: x, y1: ROOM.top, y2: bottom }));
      label(x, bottom + 18, "middle", boundInUnit(tick, units[0]));
    }
    label(4, 16, "start", up);
    label(right, this.height - 6, "end", across);
    return parts;
  }

  /**
   * Moves what a drag moves.
   * @param {object} state the chosen point
   * @param {number[]} levels the bounds
   * @param {Uint8Array} allowed of each cut-off whether it is allowed
   * @param {number|null} sure how sure the bounds must be
   */
  update(state, levels, allowed, sure) {
    Object.assign(this, { state, levels });
    const accepted = Math.round(this.page.per * this.share());
    setOn(this.dot, "aria-valuenow", accepted);
    setOn(this.dot, "aria-valuetext", `${accepted}; ${state.rule}`);
    if (this.width === 0) return;
    const picture = this.pictures[this.shown];
    this.place(this.dot, picture.of(state));
    this.rings.forEach((ring, i) => this.place(ring, picture.of(this.page.markers[i].state)));
    this.bound(this.limits[0], picture.bounds[0], 0);
    this.bound(this.limits[1], picture.bounds[1], 1);
    // Without bounds everything is allowed.
    if (this.bounded) setOn(this.shade, "d", this.shading(picture.x, allowed, sure === null ? null : this.board.program.sure.places));
  }

  /** @param {object|null} rival the point of the other goal beside this one */
  updateRival(rival) {
    showIf(this.second, rival !== null);
    if (this.width === 0) return;
    this.place(this.other, rival === null ? [NaN, NaN] : this.pictures[this.shown].of(rival));
  }

  place(node, [x, y]) {
    const drawn = Number.isFinite(x) && (Number.isFinite(y) || node === this.dot);
    setOn(node, "visibility", drawn ? "visible" : "hidden");
    // Of nobody the share that is right is not defined: the point waits at the top.
    const height = Number.isFinite(y) ? this.y(y) : ROOM.top;
    if (drawn) setOn(node, "transform", `translate(${this.x(x).toFixed(1)} ${height.toFixed(1)})`);
  }

  /** The bound of a constraint whose left side is what an axis shows. */
  bound(node, metric, side) {
    const i = this.board.constraints.findIndex(({ text }) => text.split(/ [<>]= /)[0] === metric);
    setOn(node, "visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    const at = (side ? this.y(this.levels[i]) : this.x(this.levels[i])).toFixed(1);
    const ends = side
      ? [ROOM.left, at, ROOM.left + this.across, at]
      : [at, ROOM.top, at, ROOM.top + this.up];
    ["x1", "y1", "x2", "y2"].forEach((name, k) => setOn(node, name, ends[k]));
  }

  shading(x, allowed, places) {
    const foot = ROOM.top + this.up;
    return stretches(x, allowed, 1 / this.across, places)
      .map(([from, to]) => {
        const left = this.x(from) - 0.5;
        return `M${left.toFixed(1)} ${foot}V${ROOM.top}H${(this.x(to) + 0.5).toFixed(1)}V${foot}Z`;
      })
      .join("");
  }
}

const SHAPES = ["M-6 0L0-6L6 0L0 6Z", "M-6 5L0-6L6 5Z", "M-5-5H5V5H-5Z"];

const ringOf = (i) => drawing("path", { class: "ring", d: SHAPES[i % SHAPES.length] });

const small = (child) =>
  drawing("svg", { class: "key", viewBox: "-9 -9 18 18", "aria-hidden": "true" }, child);

/** A marker's shape beside its name. */
export const legendMark = (i) => small(ringOf(i));

const legendSign = (kind) => small(drawing("circle", { class: kind, r: 6 }));
