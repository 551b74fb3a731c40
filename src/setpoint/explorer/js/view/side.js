/** One goal with all that follows from its bounds: controls, outcome, tables, picture, texts. */

import { take } from "../take.js";
import { Against } from "./against.js";
import { Bounds } from "./bounds.js";
import { Curve } from "./curve.js";
import { element, put, showIf } from "./elements.js";
import { asSentence, inUnit, people } from "./figures.js";
import { Groups } from "./groups.js";
import { Outcome, reachedInWords, ruleInWords, standing } from "./outcome.js";
import { Parts } from "./parts.js";
import { Pieces } from "./pieces.js";
import { Texts } from "./texts.js";

/** What is asked at the start: the goal as it was written. */
export const askedAtFirst = (board, program) => ({
  program,
  levels: [...board.levels],
  where: null,
  sure: null,
});

/** One side of the page. */
export class Side {
  /**
   * @param {object} data
   * @param {object} asked program, levels, where (null: as the goal chooses), sure
   * @param {{changed, settle, keep, beside, program}} page what the page does
   */
  constructor(data, asked, page) {
    Object.assign(this, { data, asked, page, point: null, other: null });
    this.board = data.programs[asked.program];
    this.build();
  }

  build() {
    const { data, board, page } = this;
    const { per } = data.payload;
    const positive = `class ${data.payload.positiveWords}`;
    const program = data.payload.programs[this.asked.program];
    const markers = data.markers.map(({ name, words, on }) => ({ name, words, state: on[this.asked.program] }));
    this.bounds = new Bounds(
      board,
      program.sure?.why ?? null,
      {
        level: (i, x) => this.askLevel(i, x),
        sure: (sure) => this.ask({ sure, where: null }),
        reset: () => this.ask({ levels: [...board.levels], where: null }),
      },
    );
    this.outcome = new Outcome(board, (i, x) => this.askLevel(i, x));
    this.pieces = new Pieces(per, positive);
    this.money = element("p", { class: "money" });
    this.parts = new Parts(board, markers);
    this.curve = new Curve(board, {
      positive, per, markers,
      moved: (cut) => this.ask({ levels: board.follow(cut), where: cut }),
      again: () => this.redraw(),
    });
    this.against = new Against(board, markers, per);
    this.groups = new Groups(board.groupsAt(board.start.cut));
    this.texts = new Texts(page.settle);
    this.keep = element("button", { type: "button", class: "main", onclick: page.keep }, "Keep this point");
    this.beside = element("button", { type: "button", onclick: page.beside });
    this.count = element("span", { class: "said" });
    this.head = element("h2", {}, "What you ask for");
    const way = board.sense > 0 ? "as high as possible" : "as low as possible";
    this.aim = element("p", { class: "aim" }, element("b", {}, asSentence(board.objective.words)), ` ${way}`);
    const ask = element("div", { class: "ask" }, this.head, this.which(), this.aim, this.bounds.node,
      element("p", { class: "tools" }, this.keep, this.count, this.beside, this.bounds.reset));
    const results = element("div", { class: "results" }, this.outcome.node, this.pieces.node, this.money,
      this.parts.node, this.curve.node, this.against.node, this.groups.node, this.texts.node);
    this.node = element("article", { class: "side" }, ask, results);
  }

  /** Which goal, where the page has two. */
  which() {
    const { programs } = this.data;
    if (programs.length < 2) return null;
    const select = element(
      "select",
      { onchange: () => this.page.program(this, Number(select.value)) },
      ...programs.map(({ words }, i) => element("option", { value: i, selected: i === this.asked.program }, words)),
    );
    return element("label", { class: "which" }, element("span", {}, "Goal"), select);
  }

  /** Changes what is asked, and has it drawn in the next frame. */
  ask(change) {
    this.asked = { ...this.asked, ...change };
    this.page.changed();
  }

  /** Moves one bound; the goal chooses anew. */
  askLevel(i, level) {
    const levels = this.asked.levels.map((x, k) => (k === i ? level : x));
    this.ask({ levels, where: null });
  }

  /** What follows from what is asked. */
  decide() {
    const { board, asked } = this;
    if (this.decided === asked) return;
    this.decided = asked;
    const { levels, sure } = asked;
    this.seat(asked.where === null ? board.choose(levels, sure) : null);
  }

  /** The point that was chosen, or that is asked for. */
  seat(choice) {
    const { board, asked: { levels, where, sure } } = this;
    this.choice = choice;
    this.where = where ?? choice.cut;
    // Where no rule is sure, these rows alone choose a cut-off for all.
    if (sure !== null && choice && !choice.feasible) this.where = board.choose(levels).cut;
    this.point = board.at(this.where);
  }

  /** @param {number|null} other the point of the other side */
  draw(other) {
    const { board, asked, point } = this;
    const { levels, sure } = asked;
    this.other = other;
    const rival = other === null ? null : board.at(other);
    this.against.update(point, rival);
    this.curve.updateRival(rival);
    // Of two sides only the one that is dragged is drawn anew.
    if (this.drawn === asked) return;
    this.drawn = asked;
    const most = board.constraints.map((_, i) => board.most(i, levels, sure));
    const met = board.met(point, levels);
    const allowed = board.allowed(levels, sure);
    const certain = sure !== null && Boolean(allowed[this.where]);
    this.stands = standing(asked, met, certain, this.choice);
    this.bounds.update(asked, point, most);
    this.outcome.update(this.stands, point, this.choice, most, sure);
    this.pieces.update(point.per);
    put(this.money, this.moneyInWords());
    this.parts.update(point, levels, met, certain);
    this.curve.update(point, levels, allowed, sure);
    this.groups.update(board.groupsAt(this.where));
  }

  /** Draws all anew, after a change of the picture. */
  redraw() {
    this.drawn = null;
    this.draw(this.other);
  }

  /** What is slow, or read only at rest. */
  rest(kept, full, two, second) {
    this.texts.update(take(this.board, { levels: this.asked.levels, where: this.where }));
    this.keep.disabled = full;
    put(this.keep, full ? "Five points are kept" : "Keep this point");
    put(this.count, kept ? `${kept} kept, below` : "");
    put(this.beside, two ? "Take the second goal away" : "Put a second goal beside");
    showIf(this.beside, !two || second);
    put(this.head, two ? (second ? "The second goal" : "The first goal") : "What you ask for");
  }

  /** The point in a sentence, to be read out. */
  inWords() {
    const { objective } = this.board;
    return `${this.stands[1]}. ${reachedInWords(objective, this.point.objective)}. ${ruleInWords(this.point.rule)}`;
  }

  moneyInWords() {
    const { objective, values, n } = this.board;
    if (objective.unit !== "amount" || !this.data.payload.prices) return "";
    const { per } = this.data.payload;
    const sum = (x) => inUnit(x * per, "amount");
    const others = this.data.markers.map(({ name, on }) => `${name} ${sum(on[this.asked.program].objective.value)}`);
    const parts = [`accepting nobody ${sum(values[0])}`, `accepting everybody ${sum(values[n - 1])}`, ...others];
    return `${asSentence(objective.words)}, for ${people(per)} rows: ${sum(this.point.objective.value)}; ${parts.join("; ")}.`;
  }
}

