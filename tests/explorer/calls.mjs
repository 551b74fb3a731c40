// Calls on the board of a page: {payload, program, calls: [[name, ...arguments]]} on stdin.
import { readFileSync } from "node:fs";
import { load } from "../../src/setpoint/explorer/js/board.js";
import { decodeState, encodeState, keep, Looks } from "../../src/setpoint/explorer/js/state.js";
import { goalText, take } from "../../src/setpoint/explorer/js/take.js";

const { payload, program = 0, calls } = JSON.parse(readFileSync(0, "utf8"));
const data = await load(payload);
const board = data.programs[program];
const more = {
  take: (levels, where) => take(board, { levels, where }),
  goalText: (levels) => goalText(board, levels),
  thread: (state) => decodeState(encodeState(state, data), data),
  fragment: (state) => encodeState(state, data),
  decode: (text) => decodeState(text, data),
  keep: (points) => points.reduce((kept, p) => keep(kept, p), []),
  looks: (places) => {
    const looks = new Looks();
    return places.map((where) => looks.look(where));
  },
  markers: () => data.markers.map((m) => ({ name: m.name, cut: m.cut, state: m.on[program], groups: m.groups })),
  thresholds: () => Array.from(board.thresholds, String),
  curve: (j) => ["share", "recall", "precision"].map((name) => board.curve[name][j]),
};
const written = (key, x) => {
  if (typeof x === "number" && !Number.isFinite(x)) return String(x);
  return ArrayBuffer.isView(x) ? Array.from(x) : x;
};
const out = calls.map(([name, ...given]) => (name in more ? more[name](...given) : board[name](...given)));
process.stdout.write(JSON.stringify(out, written));
