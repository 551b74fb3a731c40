/** The page: one goal or two beside each other, the points kept, and the state in the address. */

import { load } from "../board.js";
import { FIVE, Looks, decodeState, encodeState, keep } from "../state.js";
import { element, put } from "./elements.js";
import { countOf } from "./figures.js";
import { Frames } from "./frames.js";
import { Shortlist } from "./shortlist.js";
import { Side, askedAtFirst } from "./side.js";


class Page {
  constructor(data, root) {
    Object.assign(this, { data, sides: [], kept: [], looks: new Looks() });
    this.frames = new Frames(() => this.draw(), () => this.rest());
    this.live = element("p", { class: "spoken", "aria-live": "polite" });
    this.beside = element("div", { class: "sides" });
    this.shortlist = new Shortlist(data, {
      back: (i) => this.goBack(this.kept[i]),
      remove: (i) => this.shorten(i),
      check: (i) => this.check(i),
    });
    root.replaceChildren(this.beside, this.shortlist.node, this.live);
    addEventListener("popstate", () => this.restore());
    addEventListener("beforeprint", () => this.frames.settle());
    this.restore();
  }

  /** The state of the address, or the goal as it was written. */
  restore() {
    const { data } = this;
    const found = location.hash.length > 1 ? decodeState(location.hash, data) : null;
    const { second = null, kept = [], looks = [], ...first } = found ?? askedAtFirst(data.programs[0], 0);
    this.kept = kept;
    // Going back does not undo a look.
    this.looks = new Looks([...new Set([...this.looks.seen, ...looks])]);
    this.seat([first, ...(second ? [second] : [])]);
    this.silent = true;
    this.frames.ask();
    this.frames.settle();
  }

  /** Puts one side or two on the page; those that show the same goal stay. */
  seat(all) {
    this.sides = all.map((asked, i) => {
      const old = this.sides[i];
      if (old && old.asked.program === asked.program) {
        old.asked = asked;
        return old;
      }
      return this.side(asked);
    });
    const nodes = this.sides.map(({ node }) => node);
    const { children } = this.beside;
    if (children.length !== nodes.length || nodes.some((node, i) => node !== children[i])) {
      this.beside.replaceChildren(...nodes);
    }
    this.beside.classList.toggle("two", this.sides.length === 2);
  }

  side(asked) {
    const side = new Side(this.data, asked, {
      changed: () => this.frames.ask(),
      settle: () => this.frames.settle(),
      keep: () => this.keepPoint(side),
      beside: () => this.toggleSecond(),
      program: (own, program) => this.seatProgram(own, program),
    });
    return side;
  }

  seatProgram(side, program) {
    const all = this.sides.map((x) => (x === side ? askedAtFirst(this.data.programs[program], program) : x.asked));
    this.seat(all);
    this.frames.ask();
  }

  toggleSecond() {
    const [{ asked }, second] = this.sides;
    const other = this.data.programs.length > 1 && asked.program === 0 ? 1 : null;
    const beside = other === null ? { ...asked } : askedAtFirst(this.data.programs[other], other);
    this.seat(second ? [asked] : [asked, beside]);
    this.frames.ask();
    this.frames.settle();
  }

  draw() {
    for (const side of this.sides) side.decide();
    const [first, second] = this.sides;
    first.draw(second ? second.where : null);
    if (second) second.draw(first.where);
  }

  rest() {
    const two = this.sides.length === 2;
    this.sides.forEach((side, i) => side.rest(this.kept.length, this.kept.length >= FIVE, two, i === 1));
    this.shortlist.update(this.kept, this.looks.count);
    const words = this.sides.map((side) => side.inWords()).join(" ");
    if (!this.silent) put(this.live, words);
    this.address(this.silent);
    this.silent = false;
  }

  /** Writes the state into the address; with `replaced` no step to go back to is made. */
  address(replaced) {
    // In a notebook's frame the page has no address of its own.
    if (location.protocol === "about:") return;
    const [first, second] = this.sides.map(({ asked }) => asked);
    const state = { ...first, second: second ?? null, kept: this.kept, looks: this.looks.seen };
    const fragment = encodeState(state, this.data);
    if (fragment === location.hash) return;
    history[replaced ? "replaceState" : "pushState"](null, "", fragment);
  }

  keepPoint(side) {
    this.frames.settle();
    const { asked, where } = side;
    const point = { ...asked, where, looked: false };
    this.keepAll(keep(this.kept, point));
  }

  shorten(i) {
    this.keepAll(this.kept.filter((_, k) => k !== i));
  }

  keepAll(kept) {
    this.kept = kept;
    this.frames.ask();
    this.frames.settle();
  }

  goBack({ program, levels, where, sure }) {
    const asked = { program, levels, where, sure };
    this.seat([asked, ...this.sides.slice(1).map((side) => side.asked)]);
    this.frames.ask();
    this.frames.settle();
    scrollTo({ top: 0 });
  }

  check(i) {
    this.looks.look(this.kept[i].where);
    this.keepAll(this.kept.map((point, k) => (k === i ? { ...point, looked: true } : point)));
  }
}

/** The line above the title: which rows these are. */
const about = ({ payload }) => {
  const { rows, version } = payload;
  const parts = [`${countOf(rows.n)} rows`, rows.where.replace(/\.$/, ""), `${countOf(rows.distinct)} distinct scores`, `setpoint ${version}`];
  return parts.join(" · ");
};

const open = async () => {
  const root = document.getElementById("explorer");
  try {
    const data = await load(JSON.parse(document.getElementById("payload").textContent));
    put(document.getElementById("rows"), about(data));
    const warning = document.getElementById("warning");
    put(warning, data.payload.rows.warning ?? "");
    warning.hidden = !data.payload.rows.warning;
    new Page(data, root);
  } catch (error) {
    root.replaceChildren(element("p", {}, `This page could not be read: ${error.message}.`));
    throw error;
  }
};

open();
