// What a link keeps, the points that are kept, and how often the rows held out were looked at.

export const FIVE = 5;

/** A mark of the page: a link of a page with other rows, goals or version is not read. */
function markOf(data) {
  const text = JSON.stringify([
    data.payload.version,
    data.payload.digest,
    data.programs.map((p) => p.goal),
  ]);
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  return hash.toString(36);
}

/** The state of a page as a fragment of its address. */
export function encodeState(state, data) {
  const { second = null, kept = [], looks = [] } = state;
  const point = (p) => [...sideOut(p), +Boolean(p.looked)];
  const body = [sideOut(state), second && sideOut(second), kept.map(point), looks];
  return `#${markOf(data)}.${encodeURIComponent(JSON.stringify(body))}`;
}

/** The state that a fragment holds; null where it is of another page, or anything in it is odd. */
export function decodeState(fragment, data) {
  const text = fragment.replace(/^#/, "");
  const dot = text.indexOf(".");
  if (dot < 0 || text.slice(0, dot) !== markOf(data)) return null;
  let body;
  try {
    body = JSON.parse(decodeURIComponent(text.slice(dot + 1)));
  } catch {
    return null;
  }
  if (!isList(body, 4)) return null;
  const [first, second, kept, looks] = body;
  if (!Array.isArray(kept) || kept.length > FIVE || !kept.every((x) => isList(x, 5) && isFlag(x[4]))) return null;
  if (!Array.isArray(looks) || !looks.every((key) => isLook(key, data))) return null;
  const points = kept.map((x) => sideIn(x.slice(0, 4), data));
  const own = sideIn(first, data);
  const beside = second === null ? null : sideIn(second, data);
  if (own === null || (second !== null && beside === null)) return null;
  if (points.some((point) => point === null || point.where === null)) return null;
  return {
    ...own,
    second: beside,
    kept: points.map((point, i) => ({ ...point, looked: kept[i][4] === 1 })),
    looks,
  };
}

const isList = (x, length) => Array.isArray(x) && x.length === length;
const isFlag = (x) => x === 0 || x === 1;

/** What is asked of one goal, as a list. */
const sideOut = ({ program = 0, levels, where = null, sure = null }) => [program, levels, where, sure];

/** What a list asks of one goal; null where it cannot. */
function sideIn(list, data) {
  if (!isList(list, 4)) return null;
  const [program, levels, where, sure] = list;
  if (!Number.isInteger(program) || program < 0 || program >= data.programs.length) return null;
  const board = data.programs[program];
  const { constraints } = board;
  if (!isList(levels, constraints.length) || !levels.every((x, i) => isBound(x, constraints[i]))) return null;
  if (sure !== null && !board.sureLevels.includes(sure)) return null;
  if (where !== null && !isPlace(where, board)) return null;
  return { program, levels, where, sure };
}

/** A bound is the one that was written, or one on its slider; rounded it may lie a step beside. */
function isBound(x, { level, movable, range: [low, high], step }) {
  if (x === level) return true;
  return movable && Number.isFinite(x) && x >= low - step && x <= high + step;
}

const isPlace = (where, board) => Number.isInteger(where) && where >= 0 && where < board.n;

/** A look is the place that was looked at, as text. */
function isLook(key, data) {
  if (typeof key !== "string" || !data.check) return false;
  try {
    const where = JSON.parse(key);
    return JSON.stringify(where) === key && isPlace(where, data.programs[0]);
  } catch {
    return false;
  }
}

/** The points with one more; a sixth, and one that is there, change nothing. */
export function keep(kept, point) {
  const key = (p) => JSON.stringify([p.program, p.levels, p.where]);
  if (kept.length >= FIVE || kept.some((p) => key(p) === key(point))) return kept;
  return [...kept, point];
}

/** How many places were looked at on the rows held out; the same place twice counts once. */
export class Looks {
  constructor(seen = []) {
    this.seen = [...seen];
  }

  get count() {
    return this.seen.length;
  }

  look(where) {
    const key = JSON.stringify(where);
    if (!this.seen.includes(key)) this.seen.push(key);
    return this.count;
  }
}
