// What a cut-off inside an open bin could reach: ranges of functions over boxes of counts, as
// setpoint/program/boxes computes them. Counts only grow along a curve, so those inside a bin lie
// between those of its ends.

const STEPS = 6;
const BOX_ROUNDING = 1e-12;

/**
 * The ranges [low, high], two arrays, of a function over boxes.
 * `forms` turns an affine function of the rates into one of the counts, the constant last;
 * `low` and `high` hold for each kind the corners of all boxes.
 */
export function rangeOverBoxes(node, forms, low, high, n) {
  let least;
  let top;
  if (node.k === "affine") {
    [least, top] = rangeOfForm(forms(node), low, high, n);
  } else if (node.k === "ratio") {
    [least, top] = rangeOfRatio(node, forms, low, high, n);
  } else {
    const parts = node.of.map((x) => rangeOverBoxes(x, forms, low, high, n));
    least = new Float64Array(n);
    top = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const ends = parts.map((p) => [p[0][i], p[1][i]]);
      [least[i], top[i]] = INTERVAL[node.k](ends, node);
    }
  }
  for (let i = 0; i < n; i++) {
    least[i] = Number.isNaN(least[i]) ? node.low : Math.max(least[i], node.low);
    top[i] = Number.isNaN(top[i]) ? node.high : Math.min(top[i], node.high);
  }
  return [least, top];
}

const INTERVAL = {
  sum(ends, node) {
    let low = 0;
    let high = 0;
    ends.forEach(([a, b], k) => {
      const c = node.coefs[k];
      low += timesEnds(c, c > 0 ? a : b);
      high += timesEnds(c, c > 0 ? b : a);
    });
    return [low, high];
  },
  product([[a, b], [c, d]]) {
    const corners = [timesEnds(a, c), timesEnds(a, d), timesEnds(b, c), timesEnds(b, d)];
    return [Math.min(...corners), Math.max(...corners)];
  },
  quotient([[a, b], [c, d]]) {
    const corners = [a / c, a / d, b / c, b / d];
    if ((c > 0 || d < 0) && !corners.some(Number.isNaN)) {
      return [Math.min(...corners), Math.max(...corners)];
    }
    return [a >= 0 && c >= 0 ? 0 : -Infinity, Infinity];
  },
  abs([[a, b]]) {
    const ends = [Math.abs(a), Math.abs(b)];
    return [a <= 0 && b >= 0 ? 0 : Math.min(...ends), Math.max(...ends)];
  },
  log([[a, b]]) {
    return [a > 0 ? Math.log(a) : -Infinity, b > 0 ? Math.log(b) : -Infinity];
  },
  sqrt([[a, b]]) {
    return [Math.sqrt(Math.max(a, 0)), Math.sqrt(Math.max(b, 0))];
  },
  max(ends) {
    return [Math.max(...ends.map((e) => e[0])), Math.max(...ends.map((e) => e[1]))];
  },
  min(ends) {
    return [Math.min(...ends.map((e) => e[0])), Math.min(...ends.map((e) => e[1]))];
  },
  spread(ends) {
    const lows = ends.map((e) => e[0]);
    const highs = ends.map((e) => e[1]);
    const low = Math.max(...lows) - Math.min(...highs);
    const high = Math.max(...highs) - Math.min(...lows);
    return [Math.max(low, 0), Math.max(high, 0)];
  },
  minmax(ends) {
    const lows = ends.map((e) => e[0]);
    const highs = ends.map((e) => e[1]);
    if (!(Math.min(...lows) >= -1e-9)) return [-Infinity, Infinity];
    const low = Math.max(Math.min(...lows), 0);
    const high = Math.max(...highs);
    const below = Math.max(...lows);
    return [high > 0 ? low / high : 0, Math.min(below > 0 ? Math.min(...highs) / below : 1, 1)];
  },
  power(ends, node) {
    const n = ends.length;
    if (node.order === 2) {
      const parts = ends.map((e) => INTERVAL.abs([e]));
      return [0, 1].map((side) => Math.sqrt(parts.reduce((s, e) => s + e[side] * e[side], 0) / n));
    }
    return [0, 1].map((side) => {
      const xs = ends.map((e) => Math.max(e[side], 0));
      if (!(Math.min(...xs) > 0)) return 0;
      if (node.order === 0) return Math.exp(xs.reduce((s, x) => s + Math.log(x), 0) / n);
      return n / xs.reduce((s, x) => s + 1 / x, 0);
    });
  },
};

function timesEnds(a, b) {
  return a === 0 || b === 0 ? 0 : a * b;
}

function rangeOfForm(form, low, high, n) {
  const K = low.length;
  const least = new Float64Array(n).fill(form[K]);
  const top = new Float64Array(n).fill(form[K]);
  const room = new Float64Array(n).fill(Math.abs(form[K]));
  for (let k = 0; k < K; k++) {
    const c = form[k];
    if (c === 0) continue;
    const [small, large] = c > 0 ? [low[k], high[k]] : [high[k], low[k]];
    for (let i = 0; i < n; i++) {
      least[i] += c * small[i];
      top[i] += c * large[i];
      room[i] += Math.abs(c * high[k][i]);
    }
  }
  for (let i = 0; i < n; i++) {
    least[i] -= BOX_ROUNDING * room[i];
    top[i] += BOX_ROUNDING * room[i];
  }
  return [least, top];
}

function rangeOfRatio(node, forms, low, high, n) {
  const above = forms(node.of[0]);
  const below = forms(node.of[1]);
  const smallest = rangeOfForm(below, low, high, n)[0];
  const top = mostOfRatio(above, below, smallest, low, high, n);
  const bottom = mostOfRatio(above.map((x) => -x), below, smallest, low, high, n);
  for (let i = 0; i < n; i++) {
    top[i] = node.offset + top[i];
    bottom[i] = node.offset - bottom[i];
    if (node.atZero !== node.offset && smallest[i] <= 0) {
      top[i] = Math.max(top[i], node.atZero);
      bottom[i] = Math.min(bottom[i], node.atZero);
    }
  }
  return [bottom, top];
}

/** A bound on the largest A/B over each box, for B at least 0 (Dinkelbach 1967, over boxes). */
function mostOfRatio(above, below, smallest, low, high, n) {
  const K = low.length;
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let g = 0;
    for (let step = 0; step < STEPS; step++) {
      let a = above[K];
      let b = below[K];
      for (let k = 0; k < K; k++) {
        const s = above[k] - g * below[k] > 0 ? high[k][i] : low[k][i];
        a += above[k] * s;
        b += below[k] * s;
      }
      const next = a / b;
      if (!Number.isFinite(next) || next === g) break;
      g = next;
    }
    let left = above[K] - g * below[K];
    let room = Math.abs(left);
    for (let k = 0; k < K; k++) {
      const c = above[k] - g * below[k];
      left += Math.max(c * low[k][i], c * high[k][i]);
      room += Math.abs(c * high[k][i]);
    }
    const bound = g + Math.max(left + BOX_ROUNDING * room, 0) / smallest[i];
    out[i] = bound;
    if (!(smallest[i] > 0) || !Number.isFinite(bound)) {
      let a = above[K];
      for (let k = 0; k < K; k++) a += Math.max(above[k] * low[k][i], above[k] * high[k][i]);
      out[i] = a > BOX_ROUNDING ? Infinity : 0;
    }
  }
  return out;
}
