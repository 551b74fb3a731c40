// Functions of the rates: the formulas of setpoint/program/functions, for many cut-offs at once.

const FLOOR = 1e-12;
const QUOTIENT_ROUNDING = 1e-14;

const FORWARD = {
  ratio(node, [a, b], out) {
    for (let i = 0; i < out.length; i++) out[i] = node.offset + divided(a[i], b[i]);
    if (node.atZero !== node.offset) {
      for (let i = 0; i < out.length; i++) if (a[i] === 0 && b[i] === 0) out[i] = node.atZero;
    }
  },
  sum(node, xs, out) {
    for (let i = 0; i < out.length; i++) out[i] = node.coefs[0] * xs[0][i];
    for (let k = 1; k < xs.length; k++) {
      for (let i = 0; i < out.length; i++) out[i] += node.coefs[k] * xs[k][i];
    }
  },
  product(node, [a, b], out) {
    for (let i = 0; i < out.length; i++) out[i] = a[i] === 0 || b[i] === 0 ? 0 : a[i] * b[i];
  },
  quotient(node, [a, b], out) {
    for (let i = 0; i < out.length; i++) {
      const above = Math.abs(a[i]) <= QUOTIENT_ROUNDING && b[i] === 0 ? b[i] : a[i];
      out[i] = divided(above, b[i]);
    }
  },
  abs(node, [a], out) {
    for (let i = 0; i < out.length; i++) out[i] = Math.abs(a[i]);
  },
  log(node, [a], out) {
    for (let i = 0; i < out.length; i++) out[i] = Math.log(a[i] > 0 ? a[i] : a[i] <= 0 ? 0 : NaN);
  },
  sqrt(node, [a], out) {
    for (let i = 0; i < out.length; i++) out[i] = Math.sqrt(a[i] > 0 ? a[i] : a[i] <= 0 ? 0 : NaN);
  },
  max(node, xs, out) {
    for (let i = 0; i < out.length; i++) out[i] = most(xs, i);
  },
  min(node, xs, out) {
    for (let i = 0; i < out.length; i++) out[i] = least(xs, i);
  },
  spread(node, xs, out) {
    for (let i = 0; i < out.length; i++) {
      const top = most(xs, i);
      const bottom = least(xs, i);
      out[i] = top === bottom ? 0 : top - bottom;
    }
  },
  minmax(node, xs, out) {
    for (let i = 0; i < out.length; i++) out[i] = divided(least(xs, i), most(xs, i));
  },
  power(node, xs, out) {
    const n = xs.length;
    for (let i = 0; i < out.length; i++) out[i] = powerMean(node.order, xs, i, n);
  },
};

/** 0/0 is 0, and so are rounding errors over 0. */
function divided(a, b) {
  return Math.abs(a) <= FLOOR && b === 0 ? 0 : a / b;
}

function most(xs, i) {
  let out = xs[0][i];
  for (let k = 1; k < xs.length; k++) out = Math.max(out, xs[k][i]);
  return out;
}

function least(xs, i) {
  let out = xs[0][i];
  for (let k = 1; k < xs.length; k++) out = Math.min(out, xs[k][i]);
  return out;
}

function powerMean(order, xs, i, n) {
  let sum = 0;
  if (order === 2) {
    for (let k = 0; k < n; k++) sum += xs[k][i] * xs[k][i];
    return Math.sqrt(sum / n);
  }
  const low = least(xs, i);
  if (Number.isNaN(low)) return NaN;
  if (!(low > 0)) return 0;
  for (let k = 0; k < n; k++) sum += order === 0 ? Math.log(xs[k][i]) : 1 / xs[k][i];
  return order === 0 ? Math.exp(sum / n) : n / sum;
}

/** The values of a function (n) where each rate has n values. */
export function evaluate(node, rates, n) {
  const out = new Float64Array(n);
  if (node.k === "affine") {
    out.fill(node.const);
    for (const [j, a] of node.terms) {
      const rate = rates[j];
      for (let i = 0; i < n; i++) out[i] += a * rate[i];
    }
    return out;
  }
  FORWARD[node.k](node, node.of.map((x) => evaluate(x, rates, n)), out);
  return out;
}
