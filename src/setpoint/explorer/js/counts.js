// Accepted weights of each kind of row along a curve, and the rates that they give.

const ROUNDING = 1e-12;

/** Sums (rows of m + 1) of increments (rows of m): what each cut-off accepts. */
export function cumulated(increments, rows, m) {
  const out = [];
  for (let k = 0; k < rows; k++) {
    const sums = new Float64Array(m + 1);
    let sum = 0;
    for (let j = 0; j < m; j++) {
      sum += increments[k * m + j];
      sums[j + 1] = sum;
    }
    out.push(sums);
  }
  return out;
}

/**
 * The rates, d arrays of n, at accepted weights, K arrays of n.
 * What is left of a kind is an exact 0 where all of it is accepted: that tells 0/0 from x/0.
 */
export function ratesAt(program, S, totals, n) {
  const rates = program.rest.map((rest) => new Float64Array(n).fill(rest));
  const left = new Float64Array(n);
  for (let k = 0; k < totals.length; k++) {
    const room = ROUNDING * totals[k];
    for (let i = 0; i < n; i++) {
      const x = totals[k] - S[k][i];
      left[i] = Math.abs(x) <= room ? 0 : x;
    }
    for (let j = 0; j < rates.length; j++) {
      const [no, yes] = [program.rejected[j][k], program.accepted[j][k]];
      if (no === 0 && yes === 0) continue;
      const rate = rates[j];
      for (let i = 0; i < n; i++) rate[i] += left[i] * no + S[k][i] * yes;
    }
  }
  return rates;
}

/** Turns an affine function of the rates into one of the counts (K + 1), the constant last. */
export function formsOf(program, totals) {
  const K = totals.length;
  const base = program.rest.map((rest, j) =>
    totals.reduce((sum, t, k) => sum + program.rejected[j][k] * t, rest),
  );
  return (affine) => {
    const out = new Array(K + 1).fill(0);
    out[K] = affine.const;
    for (const [j, a] of affine.terms) {
      out[K] += a * base[j];
      for (let k = 0; k < K; k++) {
        out[k] += a * (program.accepted[j][k] - program.rejected[j][k]);
      }
    }
    return out;
  };
}

/** What a decision does with rows of each true class; `kinds` say which, `plain` which count once. */
export function confusionOf(S, totals, kinds, plain) {
  const out = { tp: 0, fp: 0, fn: 0, tn: 0, yes: 0, no: 0 };
  const names = [["fp", "tn"], ["tp", "fn"], ["yes", "no"]];
  for (let k = 0; k < kinds.length; k++) {
    const [stratum, true_] = kinds[k];
    if (!plain[stratum]) continue;
    const [accepted, left] = names[true_];
    out[accepted] += S[k];
    out[left] += totals[k] - S[k];
  }
  out.accepted = out.tp + out.fp + out.yes;
  out.total = out.accepted + out.fn + out.tn + out.no;
  out.recall = out.tp / (out.tp + out.fn);
  out.precision = out.tp / (out.tp + out.fp);
  return out;
}

/** The same as numbers of so many rows. */
export function confusionPer(confusion, per) {
  const out = {};
  for (const name of ["tp", "fp", "fn", "tn", "yes", "no", "accepted", "total"]) {
    out[name] = (confusion[name] / confusion.total) * per;
  }
  return out;
}
