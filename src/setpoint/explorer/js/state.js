// What a link keeps, the points that are kept, and how often the rows held out were looked at.

export const FIVE = 5;

/** A mark of the page: a link of another page is not read. */
function markOf(data) {
  const text = JSON.stringify([
    data.payload.version,
    data.rows.n,
    data.rows.bins,
    data.programs.map((p) => p.goal),
  ]);
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  return hash.toString(36);
}

/** The state of a page as a fragment of its address. */
export function encodeState(state, data) {
  const { program = 0, levels, where = null, sure = null, byGroup = false } = state;
  const { second = false, kept = [], looks = [] } = state;
  const point = (p) => [p.levels, p.where, p.sure ?? null];
  const body = [program, levels, where, sure, +byGroup, +second, kept.map(point), looks];
  return `#${markOf(data)}.${encodeURIComponent(JSON.stringify(body))}`;
}

/** The state that a fragment holds; null where it is of another page, or not one. */
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
  if (!Array.isArray(body) || body.length !== 8) return null;
  const [program, levels, where, sure, byGroup, second, kept, looks] = body;
  const board = data.programs[program];
  if (!board || !isPoint(levels, where, sure, board)) return null;
  if (!Array.isArray(kept) || kept.length > FIVE || !Array.isArray(looks)) return null;
  if (!kept.every((p) => Array.isArray(p) && isPoint(p[0], p[1], p[2], board))) return null;
  if (!looks.every((key) => typeof key === "string")) return null;
  return {
    program,
    levels,
    where,
    sure,
    byGroup: byGroup === 1 && data.hasSegments,
    second: second === 1 && data.programs.length > 1,
    kept: kept.map(([own, at, level]) => ({ levels: own, where: at, sure: level })),
    looks,
  };
}

function isPoint(levels, where, sure, board) {
  const cut = (j, n) => Number.isInteger(j) && j >= 0 && j < n;
  const numbers = Array.isArray(levels) && levels.length === board.levels.length;
  if (!numbers || !levels.every((x) => Number.isFinite(x))) return false;
  if (sure !== null && !board.sureLevels.includes(sure)) return false;
  if (where === null || cut(where, board.n)) return true;
  const { parts } = board.tally;
  if (!Array.isArray(where) || where.length !== parts.length) return false;
  return where.every((j, s) => cut(j, parts[s].m + 1));
}

/** The points with one more; a sixth, and one that is there, change nothing. */
export function keep(kept, point) {
  const key = (p) => JSON.stringify([p.levels, p.where, p.sure ?? null]);
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
