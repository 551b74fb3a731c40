// What the page hands back: the goal as text, lines of Python and of the shell, the rule.

const LARGEST = "1.7976931348623157e+308";

/** A number as Goal.parse reads it back exactly. */
export function numberText(x) {
  if (Object.is(x, -0)) return "0";
  return String(x);
}

/** A threshold where none can be infinite: beyond the largest number there is no score. */
function finiteText(t) {
  if (Number.isFinite(t)) return numberText(t);
  return t > 0 ? LARGEST : `-${LARGEST}`;
}

/** Pieces of text, with bounds in the places that are numbers. */
function withBounds(pieces, levels) {
  return pieces
    .map((piece) => (typeof piece === "number" ? numberText(levels[piece]) : piece))
    .join("");
}

/** Pieces of text; one in a list is a place, and not a text. */
function withPlaces(pieces, texts) {
  return pieces.map((piece) => (Array.isArray(piece) ? texts[piece[0]] : piece)).join("");
}

/** The goal with other bounds, as text. */
export function goalText(board, levels) {
  return withBounds(board.program.template.goal, levels);
}

/** The rule in words. */
export function ruleText(data, t) {
  let when = `when the score is at least ${numberText(t)}`;
  if (t === Infinity) when = "for nobody";
  if (t === -Infinity) when = "for everyone";
  return `predict ${data.positiveWords} ${when}`;
}

/** Everything to take along from a place: texts. */
export function take(board, { levels, where }) {
  const goal = goalText(board, levels);
  const state = board.at(where);
  const rule = board.data.take;
  const t = state.threshold;
  const filled = (pieces, end) =>
    pieces
      .map((piece) => {
        if (typeof piece !== "number") return piece;
        return Number.isFinite(t) ? numberText(t) : end(t);
      })
      .join("");
  const json = filled(rule.json, (t) => (t > 0 ? '"inf"' : '"-inf"'));
  const threshold = finiteText(t);
  return {
    goal,
    python: withPlaces(rule.python, { rule: pythonText(json) }),
    shell: withPlaces(rule.shell, { goal: shellText(goal), rule: shellText(json), threshold }),
    json,
    sql: filled(rule.sql, finiteText),
    rule: state.rule,
  };
}

/** Text of one line as Python reads it. */
export function pythonText(text) {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Text as one word of a shell. */
export function shellText(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
