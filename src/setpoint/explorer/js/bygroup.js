// Rules by group: those that were solved, one cut-off for all, and combinations of cut-offs that
// are tried here.

import { allowedCuts, bestAllowed, nearestCuts, signOf } from "./choose.js";
import { ratesAt } from "./counts.js";
import { evaluate } from "./functions.js";
import { narrowed } from "./narrow.js";

/** Combinations in the table that is looked at in every frame. */
const IN_TABLE = 2 ** 15;
/** Combinations tried in a frame, about, and by the search at rest. */
const TRIED_IN_FRAME = 2 ** 12;
const TRIED = 2 ** 17;
const STEPS_OF_PAIRS = [1, 8, 64];
const HALF_WINDOW = 20;
const FEW_STARTS = 3;
const GAIN = 1e-9;

/** All of a board that concerns a cut-off for each segment. */
export class RulesByGroup {
  constructor(board) {
    const { program, tally } = board;
    Object.assign(this, { board, rest: program.rest, solved: new Map(), spent: 0 });
    const { kinds, totals, parts } = tally;
    const { strata } = tally.data;
    const of = [0, 1].map((t) =>
      kinds.reduce((sum, [, true_], k) => sum + (true_ === t ? totals[k] : 0), 0),
    );
    // Rates are sums over segments, and so is what breaks ties.
    this.parts = parts.map(({ S, m, open }, s) => {
      const own = kinds.flatMap(([stratum], k) => (strata[stratum].segment === s ? [k] : []));
      const columns = (rows) => rows.map((row) => own.map((k) => row[k]));
      const share = {
        rest: program.rest.map(() => 0),
        rejected: columns(program.rejected),
        accepted: columns(program.accepted),
      };
      const rates = ratesAt(share, own.map((k) => S[k]), own.map((k) => totals[k]), m + 1);
      const tie = new Float64Array(m + 1);
      const people = new Float64Array(m + 1);
      for (const k of own) {
        const [stratum, t] = kinds[k];
        for (let i = 0; i <= m; i++) {
          if (t < 2 && of[t] > 0) tie[i] += ((t ? 1 : -1) * S[k][i]) / of[t];
          if (strata[stratum].plain) people[i] += S[k][i];
        }
      }
      const plain = own.filter((k) => strata[kinds[k][0]].plain);
      return { own, rates, tie, people, plain, m, all: upTo(m), open: open !== null && open !== undefined };
    });
    this.lists = this.listsOfTable();
    this.table = this.reached(this.lists);
    /** Whether the table holds every rule by group, so that its best one is the best of all. */
    this.complete = this.parts.every(({ open }) => !open);
    this.exact = this.complete && this.parts.every(({ m }, s) => this.lists[s].length === m + 1);
  }

  /** Cut-offs of each segment, so many that their combinations fit into the table. */
  listsOfTable() {
    const order = this.parts.map((_, s) => s).sort((a, b) => this.parts[a].m - this.parts[b].m);
    const out = [];
    let room = IN_TABLE;
    order.forEach((s, i) => {
      const { m, all } = this.parts[s];
      const count = Math.min(m + 1, Math.floor(room ** (1 / (order.length - i)) + 1e-9));
      out[s] = count > m ? all : upTo(count - 1).map((j) => Math.round((j * m) / Math.max(count - 1, 1)));
      room /= count;
    });
    return out;
  }

  /** What all combinations of the cut-offs in lists reach, one list of each segment. */
  reached(lists) {
    const n = lists.reduce((product, list) => product * list.length, 1);
    const sums = (first, of) =>
      lists.reduce((out, list, s) => outerSum(out, of(this.parts[s]), list), Float64Array.of(first));
    const rates = this.rest.map((rest, j) => sums(rest, (part) => part.rates[j]));
    const { objective, constraints } = this.board.program;
    const values = evaluate(objective.function, rates, n);
    const { sense } = this.board;
    return {
      values,
      scores: values.map((x) => (Number.isNaN(x) ? -Infinity : sense * x)),
      sides: constraints.map((c) => evaluate(c.function, rates, n)),
      ties: sums(0, (part) => part.tie),
      n,
    };
  }

  /** The combination at a place among all those of the lists. */
  cutsAt(lists, place) {
    const out = [];
    let left = place;
    for (let s = lists.length - 1; s >= 0; s--) {
      out[s] = lists[s][left % lists[s].length];
      left = Math.floor(left / lists[s].length);
    }
    return out;
  }

  /** The best combination under bounds, or the nearest to them. */
  bestOf(lists, { values, scores, sides, ties, n }, levels) {
    const { constraints } = this.board;
    let place = bestAllowed(scores, allowedCuts(sides, constraints, levels, n), ties);
    let violation = 0;
    const feasible = place >= 0;
    if (!feasible) [place, violation] = nearestCuts(sides, constraints, levels, n);
    const cuts = this.cutsAt(lists, place);
    return { cuts, value: values[place], score: scores[place], feasible, violation, way: "searched" };
  }

  tried(lists, levels) {
    const found = this.reached(lists);
    this.spent += found.n;
    return this.bestOf(lists, found, levels);
  }

  /** The best rule known. A solved one is preferred to an equal one, for its limits are known. */
  choose(levels) {
    const solved = this.solvedRules(levels).reduce(bestOfTwo, null);
    const all = [this.oneForAll(levels), this.bestOf(this.lists, this.table, levels)];
    const best = all.reduce(bestOfTwo, solved);
    const known = this.described(best, levels);
    if (this.exact || solved === null || known.gap === 0) return known;
    return this.described(bestOfTwo(best, this.climb(solved.cuts, levels, TRIED_IN_FRAME)), levels);
  }

  /** A better rule than the one that was chosen, from a search around the best; or the same. */
  improved(levels, choice) {
    if (this.exact || choice.gap === 0) return choice;
    const solved = this.solvedRules(levels).sort((a, b) => (isAhead(a, b) ? -1 : +isAhead(b, a)));
    const one = this.oneForAll(levels);
    const starts = [
      this.bestOf(this.lists, this.table, levels).cuts,
      this.cutsAccepting(one.cut),
      ...solved.slice(0, FEW_STARTS).map(({ cuts }) => cuts),
    ];
    const best = [...solved, one].reduce(bestOfTwo, null);
    const climbed = starts.map((cuts) => this.climb(cuts, levels, TRIED / starts.length));
    let found = climbed.reduce(bestOfTwo, bestOfTwo(best, choice));
    const begin = found.feasible ? found.score : -Infinity;
    const most = narrowed(this, levels, begin, (lists) => {
      found = bestOfTwo(found, this.tried(lists, levels));
      return found.feasible ? found.score : -Infinity;
    });
    return this.described(found, levels, this.complete ? most : Infinity);
  }

  /** Moves one cut-off, or two, as long as that gains something. */
  climb(start, levels, most) {
    const only = (cuts) => cuts.map((j) => [j]);
    const until = this.spent + most;
    let best = this.tried(only(start), levels);
    for (let before = null; best !== before && this.spent < until; ) {
      before = best;
      this.parts.forEach(({ all }, s) => {
        if (this.spent >= until) return;
        best = bestOfTwo(best, this.tried(only(best.cuts).with(s, all), levels));
      });
      for (let a = 0; a < this.parts.length; a++) {
        for (let b = a + 1; b < this.parts.length && this.spent < until; b++) {
          for (const step of STEPS_OF_PAIRS) {
            const near = (s) => around(best.cuts[s], step, this.parts[s].m);
            const lists = only(best.cuts).with(a, near(a)).with(b, near(b));
            best = bestOfTwo(best, this.tried(lists, levels));
          }
        }
      }
    }
    return best;
  }

  /** Of each segment the cut-off that accepts what one cut-off for all accepts of it. */
  cutsAccepting(cut) {
    const { S } = this.board.tally.whole;
    return this.parts.map(({ people, plain, m }) => {
      const wanted = plain.reduce((sum, k) => sum + S[k][cut], 0);
      const room = 1e-9 * (people[m] + 1);
      const at = people.findIndex((x) => x >= wanted - room);
      return at < 0 ? m : at;
    });
  }

  /** The solved rules as candidates. */
  solvedRules(levels) {
    const { board } = this;
    return board.lattice.flatMap((point, p) => {
      if (point.cuts === null) return [];
      const state = this.solvedAt(p);
      const { value } = state.objective;
      const feasible = board.met(state, levels).every(Boolean);
      const past = board.slack(state, levels).map((x) => (Number.isNaN(x) ? Infinity : -x));
      const violation = feasible ? 0 : Math.max(0, ...past);
      return { cuts: point.cuts, value, score: this.scoreOf(value), feasible, violation, way: "solved", lattice: point.levels };
    });
  }

  oneForAll(levels) {
    const { cut, value, feasible, violation } = this.board.choose(levels);
    return { cut, value, score: this.scoreOf(value), feasible, violation, way: "one" };
  }

  scoreOf(value) {
    return Number.isNaN(value) ? -Infinity : this.board.sense * value;
  }

  /** The best that a rule by group could score: what bounds looser limits bounds tighter ones. */
  mostPossible(levels) {
    const { lattice, constraints, sense } = this.board;
    const looser = ({ levels: own }) =>
      own.every((x, c) => signOf(constraints[c]) * (levels[c] - x) >= 0);
    return Math.min(Infinity, ...lattice.filter(looser).map(({ bound }) => sense * bound));
  }

  /** A candidate with what is known of all others. */
  described({ score, ...found }, levels, bound = this.exact && found.feasible ? score : Infinity) {
    const most = Math.min(bound, this.mostPossible(levels));
    const known = found.feasible && Number.isFinite(most);
    return {
      ...found,
      score,
      gap: known ? Math.max(0, most - score) : null,
      bound: known ? this.board.sense * most : null,
      // Whether it is certain that no rule by group meets the bounds.
      proven: !found.feasible && (this.exact || most === -Infinity),
      sure: null,
    };
  }

  /** The best known of the left side of a constraint, the other bounds kept. */
  most(i, levels) {
    const { board } = this;
    const sign = signOf(board.constraints[i]);
    let { value, cut } = board.most(i, levels);
    const consider = (x) => !Number.isNaN(x) && (value === null || sign * (x - value) > 0);
    board.lattice.forEach((point, p) => {
      if (point.cuts === null) return;
      const state = this.solvedAt(p);
      const x = state.constraints[i].value;
      if (!consider(x) || !board.met(state, levels).every((ok, c) => ok || c === i)) return;
      [value, cut] = [x, point.cuts];
    });
    const { sides, n } = this.table;
    const allowed = allowedCuts(sides, board.constraints, levels, n, i);
    let at = -1;
    for (let p = 0; p < n; p++) {
      if (allowed[p] && consider(sides[i][p])) [value, at] = [sides[i][p], p];
    }
    return { value, cut: at < 0 ? cut : this.cutsAt(this.lists, at) };
  }

  solvedAt(p) {
    if (!this.solved.has(p)) this.solved.set(p, this.board.at(this.board.lattice[p].cuts));
    return this.solved.get(p);
  }
}

/** Whether a candidate is better than another: bounds that are met first, then the objective. */
function isAhead(a, b) {
  if (a.feasible !== b.feasible) return a.feasible;
  if (!a.feasible) return a.violation < b.violation - GAIN;
  const room = Number.isFinite(b.score) ? GAIN * (1 + Math.abs(b.score)) : 0;
  return a.score > b.score + room;
}

function bestOfTwo(a, b) {
  return a === null || isAhead(b, a) ? b : a;
}

/** Each sum of a number of the first and one of those listed. */
function outerSum(first, numbers, list) {
  const out = new Float64Array(first.length * list.length);
  let at = 0;
  for (let i = 0; i < first.length; i++) {
    for (let j = 0; j < list.length; j++) out[at++] = first[i] + numbers[list[j]];
  }
  return out;
}

function upTo(m) {
  return Array.from({ length: m + 1 }, (_, j) => j);
}

/** Places around one, within 0 to m. */
function around(place, step, m) {
  const out = [];
  for (let i = -HALF_WINDOW; i <= HALF_WINDOW; i++) {
    const at = place + i * step;
    if (at >= 0 && at <= m) out.push(at);
  }
  return out;
}
