// Where a better rule by group may lie: boxes of cut-offs are halved, and those left out in which
// no rule meets the bounds or none is better (branch and bound).

import { rangeOverBoxes } from "./boxes.js";
import { meets, signOf } from "./choose.js";
import { formsOf } from "./counts.js";

/** Boxes that are looked at in each round; of others only their bound is kept. */
const IN_ROUND = 256;
/** Counts at corners of boxes, of all kinds of row, that are looked at in all. */
const LOOKED_AT = 2 ** 17;
/** Boxes of so few combinations are tried out. */
const FEW_RULES = 512;

/**
 * Searches boxes of combinations.
 * @param {object} rules with `parts` (S and m of each segment), `board`
 * @param {number[]} levels
 * @param {number} score the best so far; -Infinity: none
 * @param {(lists: number[][]) => number} tryOut tries combinations; the best score then
 * @returns {number} no combination scores more than this; -Infinity: none meets the bounds
 */
export function narrowed({ parts, board }, levels, score, tryOut) {
  let best = score;
  let most = -Infinity;
  let looked = 0;
  let boxes = [parts.map(({ m }) => [0, m])];
  while (boxes.length > 0) {
    const bounds = boundsOf(boxes, parts, board, levels);
    const order = boxes.map((_, i) => i).filter((i) => bounds[i] > best);
    order.sort((a, b) => bounds[b] - bounds[a]);
    looked += boxes.length * board.tally.totals.length;
    const kept = looked > LOOKED_AT ? 0 : IN_ROUND;
    if (order.length > kept) most = Math.max(most, bounds[order[kept]]);
    const next = [];
    for (const i of order.slice(0, kept)) {
      if (!(bounds[i] > best)) break;
      const box = boxes[i];
      const size = box.reduce((product, [low, high]) => product * (high - low + 1), 1);
      if (size <= FEW_RULES) best = Math.max(best, tryOut(box.map(listed)));
      else next.push(...halves(box));
    }
    boxes = next;
  }
  return Math.max(most, best);
}

/** A bound on the score within each box; -Infinity where no rule can meet the bounds. */
function boundsOf(boxes, parts, board, levels) {
  const { program, tally } = board;
  const n = boxes.length;
  const corner = (end) =>
    tally.totals.map((_, k) => {
      const s = parts.findIndex(({ own }) => own.includes(k));
      const { S } = tally.parts[s];
      return Float64Array.from(boxes, (box) => S[k][box[s][end]]);
    });
  const [low, high] = [corner(0), corner(1)];
  const forms = formsOf(program, tally.totals);
  const range = (node) => rangeOverBoxes(node, forms, low, high, n);
  const [least, top] = range(program.objective.function);
  const out = board.sense > 0 ? top : least.map((x) => -x);
  program.constraints.forEach((c, i) => {
    const sign = signOf(c);
    const reach = range(c.function)[sign > 0 ? 1 : 0];
    for (let b = 0; b < n; b++) if (!meets(reach[b], levels[i], sign)) out[b] = -Infinity;
  });
  return out;
}

/** A box cut through the middle of its longest side. */
function halves(box) {
  const sizes = box.map(([low, high]) => high - low);
  const s = sizes.indexOf(Math.max(...sizes));
  const [low, high] = box[s];
  const middle = (low + high) >> 1;
  return [box.with(s, [low, middle]), box.with(s, [middle + 1, high])];
}

const listed = ([low, high]) => Array.from({ length: high - low + 1 }, (_, j) => low + j);
