// Milliseconds of loading a page's payload and of one choice, the best of three; the payload is read from a file.
import { readFileSync } from "node:fs";
import { load } from "../src/setpoint/explorer/js/board.js";

const payload = JSON.parse(readFileSync(process.argv[2], "utf8"));
let start = performance.now();
const data = await load(payload);
const loading = performance.now() - start;
const board = data.programs[0];
const levels = board.levels.map((x, i) => [x, board.constraints[i]]);
start = performance.now();
board.choose(board.levels);
const first = performance.now() - start;
const times = [];
for (let i = 0; i < 400; i++) {
  const own = levels.map(([x, c]) => x + (c.relation === ">=" ? -1 : 1) * (i % 40) * 0.002);
  let least = Infinity;
  for (let again = 0; again < 3; again++) {
    start = performance.now();
    board.choose(own);
    least = Math.min(least, performance.now() - start);
  }
  times.push(least);
}
times.sort((a, b) => a - b);
const out = { loading, first, median: times[200], slow: times[395], worst: times[399], bins: data.rows.bins };
process.stdout.write(JSON.stringify(out));
