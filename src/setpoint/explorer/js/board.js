// A goal on the rows of the page: what each cut-off reaches, and which one is best under bounds.

import { unpacked } from "./arrays.js";
import { rangeOverBoxes } from "./boxes.js";
import {
  allowedCuts,
  bestAllowed,
  bestInside,
  meets,
  nearestCuts,
  signOf,
} from "./choose.js";
import { confusionOf, confusionPer, formsOf, ratesAt } from "./counts.js";
import { evaluate } from "./functions.js";
import { endsAt } from "./limits.js";
import { ruleText } from "./take.js";
import { Tally } from "./tally.js";

/** All that a page shows, from its payload. */
export async function load(payload) {
  const data = await unpacked(payload);
  const shared = new Tally(data, data.kinds, data.curve);
  shared.payload = data;
  const check = data.check
    ? new Tally(data, data.check.kinds, data.check.curve)
    : null;
  const programs = data.programs.map((p, i) => new Board(data, p, shared, check, i));
  // What is asked at every drag is computed before the first one.
  programs.forEach((board) => board.ofBins());
  const markers = data.markers.map((m) => ({
    name: m.name,
    words: m.words,
    cut: m.cut,
    groups: shared.groupsOf((g) => m.columns[g]),
    on: programs.map((board) => board.ofAccepted(Float64Array.from(m.S), m.cut)),
  }));
  return {
    payload: data,
    programs,
    markers,
    groups: data.groups,
    rows: data.rows,
    check: data.check && { where: data.check.where, n: data.check.n, labelled: data.check.labelled },
  };
}

/** One goal. */
export class Board {
  constructor(data, program, tally, check, index) {
    this.data = data;
    this.program = program;
    this.tally = tally;
    this.check = check;
    this.index = index;
    this.goal = program.goal;
    this.words = program.words;
    this.sense = program.sense;
    this.objective = program.objective;
    this.constraints = program.constraints;
    this.levels = program.constraints.map((c) => c.level);
    this.start = program.start;
    this.n = tally.m + 1;
    this.per = data.per;
    this.sureLevels = program.sure ? program.sure.levels : [];
    this.thresholds = tally.whole.thresholds;
    const rates = ratesAt(program, tally.whole.S, tally.totals, this.n);
    this.values = evaluate(program.objective.function, rates, this.n);
    this.sides = program.constraints.map((c) => evaluate(c.function, rates, this.n));
    this.scores = this.values.map((x) => (Number.isNaN(x) ? -Infinity : this.sense * x));
    this.curve = this.shape();
    this.inside = null;
  }

  /** Share accepted, recall and precision along the curve; and what breaks ties, Youden's index. */
  shape() {
    const { S } = this.tally.whole;
    const [n, m] = [this.n, this.tally.m];
    const sums = [0, 1, 2].map(() => new Float64Array(n));
    this.tally.kinds.forEach(([stratum, true_], k) => {
      if (!this.tally.plain[stratum]) return;
      for (let i = 0; i < n; i++) sums[true_][i] += S[k][i];
    });
    const [no, yes, unknown] = sums;
    const total = no[m] + yes[m] + unknown[m];
    const out = {
      thresholds: this.thresholds,
      share: new Float64Array(n),
      recall: new Float64Array(n),
      precision: new Float64Array(n),
    };
    // as the solver has it: over all kinds of a true class, copies by measures too
    const both = [0, 1].map((t) => this.tally.kinds.flatMap(([, true_], k) => (true_ === t ? [k] : [])));
    const of = both.map((ks) => ks.reduce((sum, k) => sum + this.tally.totals[k], 0));
    this.tiebreak = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      out.share[i] = (no[i] + yes[i] + unknown[i]) / total;
      out.recall[i] = yes[i] / yes[m];
      out.precision[i] = yes[i] / (yes[i] + no[i]);
      both.forEach((ks, t) => {
        if (!(of[t] > 0)) return;
        for (const k of ks) this.tiebreak[i] += ((t ? 1 : -1) * S[k][i]) / of[t];
      });
    }
    return out;
  }

  /** 1 where every bound is met; with `sure` where limits that hold at all places at once meet them. */
  allowed(levels, sure = null, skip = -1) {
    const found = allowedCuts(this.sides, this.constraints, levels, this.n, skip);
    if (sure === null) return found;
    const { places, limits, levels: known } = this.program.sure ?? { levels: [] };
    const at = known.indexOf(sure);
    if (at < 0) throw new Error(`sure is one of ${known.join(", ")} or null, found ${sure}`);
    const out = new Uint8Array(this.n);
    for (let p = 0; p < places.length; p++) {
      const clear = this.constraints.every(
        (c, i) => i === skip || meets(limits[at][i][p], levels[i], signOf(c)),
      );
      if (clear && found[places[p]]) out[places[p]] = 1;
    }
    return out;
  }

  /** The best cut-off under bounds, or the nearest to them. */
  choose(levels, sure = null) {
    const cut = bestAllowed(this.scores, this.allowed(levels, sure), this.tiebreak);
    if (cut < 0) {
      const [near, violation] = nearestCuts(this.sides, this.constraints, levels, this.n);
      const value = this.values[near];
      return { cut: near, feasible: false, value, violation, gap: null, bound: null, sure };
    }
    const most = Math.max(this.scores[cut], bestInside(this.ofBins(), this.constraints, levels));
    const value = this.values[cut];
    const gap = sure === null ? Math.max(0, most - this.scores[cut]) || 0 : null;
    const bound = sure === null ? this.sense * most : null;
    return { cut, feasible: true, value, violation: 0, gap, bound, sure };
  }

  /** Open bins with the best score and sides that a cut-off inside could have. */
  ofBins() {
    if (this.inside) return this.inside;
    const { S, open, m } = this.tally.whole;
    const at = [];
    for (let j = 0; open && j < m; j++) if (open[j]) at.push(j);
    const low = S.map((sums) => Float64Array.from(at, (j) => sums[j]));
    const high = S.map((sums) => Float64Array.from(at, (j) => sums[j + 1]));
    const forms = formsOf(this.program, this.tally.totals);
    const range = (node) => rangeOverBoxes(node, forms, low, high, at.length);
    const [least, most] = range(this.objective.function);
    const scores = this.sense > 0 ? most : least.map((x) => -x);
    const reach = this.constraints.map((c) => range(c.function)[signOf(c) > 0 ? 1 : 0]);
    this.inside = { scores, reach };
    return this.inside;
  }

  /** The best that the left side of a constraint can be, the other bounds kept. */
  most(i, levels, sure = null) {
    const sign = signOf(this.constraints[i]);
    let [value, cut] = [null, null];
    const consider = (x, at) => {
      if (Number.isNaN(x) || (value !== null && !(sign * (x - value) > 0))) return;
      [value, cut] = [x, at];
    };
    const allowed = this.allowed(levels, sure, i);
    const limits = sure === null ? null : this.sureSide(i, sure);
    for (let j = 0; j < this.n; j++) {
      if (allowed[j]) consider(limits ? limits.get(j) : this.sides[i][j], j);
    }
    return { value, cut };
  }

  /** The limit of a constraint at each place that may be chosen with this confidence. */
  sureSide(i, sure) {
    const { places, limits, levels } = this.program.sure;
    const own = limits[levels.indexOf(sure)][i];
    return new Map(Array.from(places, (place, p) => [place, own[p]]));
  }

  /** What a cut-off reaches. */
  at(where) {
    const state = this.ofAccepted(this.tally.S(where), where);
    const threshold = this.thresholds[where];
    return { ...state, cut: where, threshold, rule: ruleText(this.data, threshold) };
  }

  /** What a decision reaches that accepts this weight of each kind. */
  ofAccepted(S, cut = null) {
    return stateOf(this.program, this.tally, S, this.levels, this.per, (side, i) => {
      const known = this.program.limits;
      if (cut === null || !known) return { low: null, high: null };
      const [ends, values] = i < 0 ? [known.objective, this.values] : [known.constraints[i], this.sides[i]];
      return endsAt(this.program.places, ends, values, cut, side.function);
    });
  }

  met(state, levels) {
    return state.constraints.map((c, i) => meets(c.value, levels[i], signOf(this.constraints[i])));
  }

  slack(state, levels) {
    return state.constraints.map((c, i) =>
      c.value === levels[i] ? 0 : signOf(this.constraints[i]) * (c.value - levels[i]),
    );
  }

  groupsAt(where) {
    return this.tally.groups(where);
  }

  /** Each bound that moves at what is reached at a cut-off, rounded to the side that is met. */
  follow(cut) {
    return this.constraints.map((c, i) => {
      const value = this.sides[i][cut];
      if (!c.movable || !Number.isFinite(value)) return this.levels[i];
      const digits = Math.max(0, Math.round(-Math.log10(c.step)));
      const steps = value / c.step;
      const whole = c.relation === ">=" ? Math.floor(steps + 1e-9) : Math.ceil(steps - 1e-9);
      return Number((whole * c.step).toFixed(digits));
    });
  }

  /** The same on the rows held out; null without such rows, {why} where the goal has no value there. */
  checkAt(where) {
    if (!this.check) return null;
    const program = this.data.check.programs[this.index];
    if (program.why) return { why: program.why };
    if (!this.checked) {
      const rates = ratesAt(program, this.check.whole.S, this.check.totals, this.n);
      this.checked = {
        values: evaluate(program.objective.function, rates, this.n),
        sides: program.constraints.map((c) => evaluate(c.function, rates, this.n)),
      };
    }
    const { values, sides } = this.checked;
    const levels = program.constraints.map((c) => c.level);
    const S = this.check.S(where);
    const state = stateOf(program, this.check, S, levels, this.per, (side, i) => {
      if (!program.limits) return { low: null, high: null };
      const ends = i < 0 ? program.limits.objective : program.limits.constraints[i];
      const along = i < 0 ? values : sides[i];
      return endsAt(this.program.places, ends, along, where, side.function);
    });
    return { ...state, cut: where, groups: this.check.groups(where) };
  }

  /** The cut-off whose share of rows accepted is nearest to one. */
  cutAtShare(share) {
    const { share: along } = this.curve;
    let [low, high] = [0, this.n - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (along[middle] >= share) high = middle;
      else low = middle + 1;
    }
    const before = Math.max(0, low - 1);
    return share - along[before] < along[low] - share ? before : low;
  }
}

function stateOf(program, tally, S, levels, per, ends) {
  const rates = ratesAt(program, Array.from(S, (x) => [x]), tally.totals, 1);
  const of = (side, i) => ({
    value: evaluate(side.function, rates, 1)[0],
    unit: side.unit,
    ...ends(side, i),
  });
  const constraints = program.constraints.map((c, i) => {
    const found = { ...of(c, i), level: levels[i], relation: c.relation };
    found.slack = found.value === levels[i] ? 0 : signOf(c) * (found.value - levels[i]);
    return found;
  });
  const confusion = confusionOf(S, tally.totals, tally.kinds, tally.plain);
  return {
    objective: of(program.objective, -1),
    constraints,
    S,
    confusion,
    per: confusionPer(confusion, per),
  };
}
