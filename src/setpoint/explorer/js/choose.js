// Choosing among cut-offs: what is reached at each is computed once, then bounds are compared.

export const SATISFIED = 1e-9;
const TIE = 1e-12;

/** Whether a left side meets a bound; what cannot be compared does not. */
export function meets(value, level, sign) {
  return value === level || sign * (value - level) >= -SATISFIED;
}

export function signOf(constraint) {
  return constraint.relation === ">=" ? 1 : -1;
}

/** 1 for each cut-off at which all sides meet their bounds; `skip` is the number of one that need not. */
export function allowedCuts(sides, constraints, levels, n, skip = -1) {
  const out = new Uint8Array(n).fill(1);
  for (let c = 0; c < sides.length; c++) {
    if (c === skip) continue;
    const [side, level, sign] = [sides[c], levels[c], signOf(constraints[c])];
    const bound = sign * level - SATISFIED;
    if (Number.isFinite(level)) {
      for (let i = 0; i < n; i++) if (!(sign * side[i] >= bound)) out[i] = 0;
    } else {
      for (let i = 0; i < n; i++) if (!meets(side[i], level, sign)) out[i] = 0;
    }
  }
  return out;
}

/** The allowed place with the best score; of those that tie the one with the largest `tiebreak`; -1: none. */
export function bestAllowed(scores, allowed, tiebreak) {
  let best = -Infinity;
  let some = false;
  for (let i = 0; i < scores.length; i++) {
    if (!allowed[i]) continue;
    some = true;
    if (scores[i] > best) best = scores[i];
  }
  if (!some) return -1;
  const near = Number.isFinite(best) ? best - TIE * (1 + Math.abs(best)) : best;
  let at = -1;
  for (let i = 0; i < scores.length; i++) {
    if (!allowed[i] || !(Number.isNaN(scores[i]) ? best === -Infinity : scores[i] >= near)) continue;
    if (at < 0 || tiebreak[i] > tiebreak[at]) at = i;
  }
  return at;
}

/** The place whose largest violation of a bound is smallest, and that violation. */
export function nearestCuts(sides, constraints, levels, n) {
  let [at, least] = [0, Infinity];
  for (let i = 0; i < n; i++) {
    let worst = 0;
    for (let c = 0; c < sides.length; c++) {
      const [value, level] = [sides[c][i], levels[c]];
      const past = value === level ? 0 : signOf(constraints[c]) * (level - value);
      if (!(past <= 0)) worst = Math.max(worst, Number.isNaN(past) ? Infinity : past);
    }
    if (worst < least) [at, least] = [i, worst];
  }
  return [at, least];
}

/** Of open bins the best score that a cut-off inside could have under the bounds; -Infinity: none. */
export function bestInside(inside, constraints, levels) {
  let best = -Infinity;
  const { scores, reach } = inside;
  for (let b = 0; b < scores.length; b++) {
    if (!(scores[b] > best)) continue;
    let possible = true;
    for (let c = 0; possible && c < reach.length; c++) {
      possible = meets(reach[c][b], levels[c], signOf(constraints[c]));
    }
    if (possible) best = scores[b];
  }
  return best;
}
