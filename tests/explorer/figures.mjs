// What the views make of numbers and of curves: read from stdin, written to stdout.
import { readFileSync } from "node:fs";
import * as figures from "../../src/setpoint/explorer/js/view/figures.js";
import * as pictures from "../../src/setpoint/explorer/js/view/pictures.js";
import { loosened } from "../../src/setpoint/explorer/js/view/outcome.js";
import { ticksOf } from "../../src/setpoint/explorer/js/view/axes.js";

const { numbers, bounds, curve, wanted, allowed, loose, axes } = JSON.parse(readFileSync(0, "utf8"));
const [x, y] = curve.map((list) => Float64Array.from(list));
const written = (unit) => numbers.map((number) => figures.inUnit(number, unit));
const out = {
  share: written("share"),
  amount: written("amount"),
  number: written("number"),
  bounds: bounds.map((bound) => ["share", "amount"].map((unit) => figures.boundInUnit(bound, unit))),
  control: bounds.map((bound) => figures.fromControl(figures.toControl(bound, "share"), "share")),
  thinned: pictures.thinned(x, y),
  nearest: wanted.map((place) => pictures.nearestAlong(x, place)),
  stretches: pictures.stretches(x, allowed, 0),
  loosened: loose.map(([constraint, value]) => loosened(constraint, value)),
  ticks: axes.map(([first, last]) => ticksOf({ first, last })),
};
process.stdout.write(JSON.stringify(out));
