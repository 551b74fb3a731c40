// What the page computes for each case: read from stdin, written to stdout.
import { readFileSync } from "node:fs";
import { load } from "../../src/setpoint/explorer/js/board.js";

const out = [];
for (const { payload, asked } of JSON.parse(readFileSync(0, "utf8"))) {
  const data = await load(payload);
  out.push(
    asked.map(({ cuts, levels }) => {
      const board = data.programs[0];
      const found = board.choose(levels);
      return {
        n: board.n,
        thresholds: cuts.map((j) => String(board.thresholds[j])),
        along: cuts.map((j) => [board.values[j], ...board.sides.map((s) => s[j])].map(String)),
        at: cuts.map((j) => {
          const state = board.at(j);
          return [state.objective.value, ...state.constraints.map((c) => c.value)].map(String);
        }),
        chosen: { cut: found.cut, value: String(found.value), feasible: found.feasible },
        violation: String(found.violation),
      };
    }),
  );
}
process.stdout.write(JSON.stringify(out));
