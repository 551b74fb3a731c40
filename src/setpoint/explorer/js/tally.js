// What is counted in the bins of a page: kinds of rows, and groups of them.

import { cumulated } from "./counts.js";

/** Counts along the curve of one threshold for all. */
export class Tally {
  constructor(data, kinds, curve) {
    this.data = data;
    this.kinds = kinds;
    this.m = curve.m;
    this.plain = data.strata.map((s) => s.plain);
    this.whole = this.cumulated(curve);
    this.totals = this.whole.S.map((sums) => sums[curve.m]);
  }

  cumulated(curve) {
    const rows = this.data.groups.map((g) => 3 * g.values.length);
    return {
      m: curve.m,
      thresholds: curve.thresholds,
      open: curve.open,
      S: cumulated(curve.counts, this.kinds.length, curve.m),
      columns: curve.columns.map((c, g) => cumulated(c, rows[g], curve.m)),
    };
  }

  /** The accepted weight of each kind at a cut-off. */
  S(where) {
    return Float64Array.from(this.whole.S, (x) => x[where]);
  }

  groups(where) {
    return this.groupsOf((g) => this.whole.columns[g].map((x) => x[where]));
  }

  groupsOf(accepted) {
    return this.data.groups.map((group, g) => {
      const sums = accepted(g);
      const all = this.whole.columns[g].map((x) => x[this.m]);
      const values = group.values.map((value, v) => {
        const [no, yes, unknown] = [3 * v, 3 * v + 1, 3 * v + 2];
        const people = all[no] + all[yes] + all[unknown];
        const labelledAccepted = sums[no] + sums[yes];
        const out = {
          value,
          people,
          accepted: labelledAccepted + sums[unknown],
          positives: all[yes],
          found: sums[yes],
          labelledAccepted,
        };
        out.share = out.accepted / people;
        out.recall = out.found / out.positives;
        out.precision = out.found / labelledAccepted;
        return out;
      });
      return { column: group.column, named: group.named, values };
    });
  }
}
