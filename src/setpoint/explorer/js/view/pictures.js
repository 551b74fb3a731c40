/**
 * The three pictures of all cut-offs: what their axes are, and the line through at most some 600
 * of their points. Along each the share that is accepted grows from left to right.
 */

import { SHARES, axisFor } from "./axes.js";

/** Columns of the picture; of the points in each the lowest and the highest are drawn. */
const COLUMNS = 300;

/**
 * The pictures of a goal.
 * @param {object} board
 * @param {string} positive the positive class in words
 */
export const picturesOf = (board, positive) => {
  const { share, recall, precision } = board.curve;
  const unit = board.objective.unit;
  const accepted = "of all rows, accepted";
  return [
    {
      name: "Right and found",
      x: recall,
      y: precision,
      across: `of ${positive}, found`,
      up: "of those accepted, right",
      axes: [SHARES, SHARES],
      units: ["share", "share"],
      of: (state) => [state.confusion.recall, state.confusion.precision],
      bounds: ["recall", "precision"],
    },
    {
      name: "Found and accepted",
      x: share,
      y: recall,
      across: accepted,
      up: `of ${positive}, found`,
      axes: [SHARES, SHARES],
      units: ["share", "share"],
      of: (state) => [shareOf(state), state.confusion.recall],
      bounds: ["predicted_rate", "recall"],
    },
    {
      name: "Objective",
      x: share,
      y: board.values,
      across: accepted,
      up: board.objective.words,
      axes: [SHARES, axisFor(board.values, unit)],
      units: ["share", unit],
      of: (state) => [shareOf(state), state.objective.value],
      bounds: ["predicted_rate", board.objective.text],
    },
  ];
};

const shareOf = ({ confusion }) => confusion.accepted / confusion.total;

/**
 * The cut-offs to draw a line through: in each column of the picture the lowest and the highest,
 * so that no peak is lost; in their order.
 */
export const thinned = (x, y) => {
  const kept = [];
  let column = -1;
  let low = -1;
  let high = -1;
  const close = () => {
    if (low < 0) return;
    kept.push(Math.min(low, high));
    if (low !== high) kept.push(Math.max(low, high));
  };
  for (let i = 0; i < x.length; i += 1) {
    if (!Number.isFinite(x[i]) || !Number.isFinite(y[i])) continue;
    const own = Math.floor(x[i] * COLUMNS);
    if (own !== column) {
      close();
      [column, low, high] = [own, i, i];
    } else {
      if (y[i] < y[low]) low = i;
      if (y[i] > y[high]) high = i;
    }
  }
  close();
  return kept;
};

/** The cut-off whose place on the horizontal axis is nearest; the first of equals. */
export const nearestAlong = (x, wanted) => {
  let low = 0;
  let high = x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  if (low === 0 || x[low] - wanted <= wanted - x[low - 1]) return low;
  // The first of those that lie as far to the left.
  return nearestAlong(x.subarray(0, low), x[low - 1]);
};

/**
 * The stretches along the horizontal axis where a cut-off is allowed, as pairs of places; those
 * closer to one another than a pixel are one. With `places` only these cut-offs are considered.
 */
export const stretches = (x, allowed, pixel, places = null) => {
  const found = [];
  const count = places === null ? allowed.length : places.length;
  let [start, end, joined] = [null, null, false];
  for (let k = 0; k < count; k += 1) {
    const i = places === null ? k : places[k];
    if (!allowed[i]) {
      joined = false;
      continue;
    }
    if (start !== null && (joined || x[i] - end <= pixel)) end = x[i];
    else {
      if (start !== null) found.push([start, end]);
      [start, end] = [x[i], x[i]];
    }
    joined = true;
  }
  if (start !== null) found.push([start, end]);
  return found;
};
