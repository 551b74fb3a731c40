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
  const { second = null, kept = [], looks = [] } = state;
  const point = (p) => [...sideOut(p), +Boolean(p.looked)];
  const body = [sideOut(state), second && sideOut(second), kept.map(point), looks];
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
  if (!Array.isArray(body) || body.length !== 4) return null;
  const [first, second, kept, looks] = body;
  if (!Array.isArray(kept) || kept.length > FIVE || !Array.isArray(looks)) return null;
  if (!looks.every((key) => typeof key === "string")) return null;
  const sides = [first, ...(second === null ? [] : [second]), ...kept].map((x) => sideIn(x, data));
  if (sides.includes(null)) return null;
  const [own, ...others] = sides;
  const beside = second === null ? null : others.shift();
  if (others.some(({ where }) => where === null)) return null;
  return {
    ...own,
    second: beside,
    kept: others.map((point, i) => ({ ...point, looked: kept[i][5] === 1 })),
    looks,
  };
}

/** What is asked of one goal, as a list. */
const sideOut = ({ program = 0, levels, where = null, sure = null, byGroup = false }) => [
  program, levels, where, sure, +byGroup,
];

/** What a list asks of one goal; null where it cannot. */
function sideIn(list, data) {
  if (!Array.isArray(list)) return null;
  const [program, levels, where, sure, byGroup] = list;
  const board = data.programs[program];
  if (!board || !isPoint(levels, where, sure, board)) return null;
  return { program, levels, where, sure, byGroup: byGroup === 1 && board.lattice.length > 0 };
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
