/** Pieces of the number line: where a number lies, and which round numbers to write beside it. */

const MARGIN = 0.12;

/** An axis from `first` to `last`; `shared` is the one from 0 to 100 %, whose ends need no words. */
export class Axis {
  constructor(first, last, shared = false) {
    Object.assign(this, { first, last, shared });
  }

  /** The place of a number from 0 to 1; what lies outside is at an end. */
  at(x) {
    return (Math.min(Math.max(x, this.first), this.last) - this.first) / (this.last - this.first);
  }
}

/** The axis of shares. */
export const SHARES = new Axis(0, 1, true);

/** The smallest and the largest of the finite numbers; null where there is none. */
export const extent = (numbers) => {
  let low = Infinity;
  let high = -Infinity;
  for (const x of numbers) {
    if (x < low && x > -Infinity) low = x;
    if (x > high && x < Infinity) high = x;
  }
  return low <= high ? [low, high] : null;
};

/** The axis for numbers of a unit: that of shares, or their own with room at both ends. */
export const axisFor = (numbers, unit) => {
  const found = extent(numbers);
  if (found === null) return SHARES;
  const [low, high] = found;
  if (unit === "share" && low >= 0 && high <= 1) return SHARES;
  const room = MARGIN * (high - low || Math.abs(high) || 1);
  return new Axis(low >= 0 ? Math.max(low - room, 0) : low - room, high + room);
};

/** Round numbers within an axis, about `most` of them. */
export const ticksOf = ({ first, last }, most = 5) => {
  const raw = (last - first) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * (1 - 1e-9));
  const ticks = [];
  for (let i = Math.ceil(first / step - 1e-9); i * step <= last + 1e-9 * step; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
};
