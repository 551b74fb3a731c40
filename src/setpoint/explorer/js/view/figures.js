/**
 * Numbers as people read them, written as the report writes them: shares in per cent, money as
 * amounts, the rest in four decimals.
 */

const formats = [0, 1].map(
  (digits) =>
    new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }),
);

const grouped = (x, digits) => formats[digits].format(x);

/** At most so many significant digits, without zeros at the end; very small or large as 4e-05. */
export const significant = (x, digits) => {
  if (!Number.isFinite(x)) return String(x);
  const [front, power] = x.toExponential(digits - 1).split("e");
  if (Number(power) >= -4 && Number(power) < digits) return String(Number(x.toPrecision(digits)));
  return `${Number(front)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
};

/** A share in per cent with one digit; with more where it would read as nothing or all. */
export const percent = (share) => {
  const whole = 100 * share;
  if (!Number.isFinite(whole)) return "-";
  if (whole === 0) return "0 %";
  const near = Math.min(Math.abs(whole), Math.abs(100 - Math.abs(whole)));
  if (near === 0) return `${whole.toFixed(0)} %`;
  if (near >= 0.05) return `${whole.toFixed(1)} %`;
  return `${whole.toFixed(Math.min(-Math.floor(Math.log10(near)), 8))} %`;
};

const amountOf = (x) => {
  if (x === 0 || Math.abs(x) >= 100) return grouped(x, 0);
  return Math.abs(x) >= 0.01 ? x.toFixed(2) : significant(x, 3);
};

const numberOf = (x) => {
  if (x === 0) return "0";
  if (Math.abs(x) < 5e-4) return significant(x, 3);
  if (Math.abs(x) < 1000) return x.toFixed(4);
  if (Math.abs(x) >= 1e6) return grouped(x, 0);
  return Number(x.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 2 });
};

/** A value in its unit ("share", "amount", "number"); "-" where it is not defined. */
export const inUnit = (x, unit) => {
  if (x === null || !Number.isFinite(x)) return "-";
  return unit === "share" ? percent(x) : unit === "amount" ? amountOf(x) : numberOf(x);
};

/** "60.1 % to 64.5 %"; "" where the limits are not known. */
export const limitsInWords = ({ low, high }, unit) =>
  low !== null && high !== null && Number.isFinite(low + high)
    ? `${inUnit(low, unit)} to ${inUnit(high, unit)}`
    : "";

/** A bound as short as it was written. */
export const boundInUnit = (x, unit) =>
  unit === "share" ? `${significant(100 * x, 6)} %` : significant(x, 6);

/** "at least 60 %". */
export const askedFor = (relation, level, unit) =>
  `${relation === ">=" ? "at least" : "at most"} ${boundInUnit(level, unit)}`;

/** A difference with its sign; of two shares in points. */
export const difference = (x, unit) => {
  if (!Number.isFinite(x)) return "";
  const size = Math.abs(x);
  const text = unit === "share" ? `${(100 * size).toFixed(1)} points` : inUnit(size, unit);
  if (/^[0.]+( points)?$/.test(text)) return "the same";
  return `${x < 0 ? "\u2212" : "+"}${text}`;
};

/** A number of people; of a fraction of one it says that there are some. */
export const people = (x) => (x >= 0.5 || x === 0 ? grouped(Math.round(x), 0) : "fewer than 1");

/** A count of rows. */
export const countOf = (x) => grouped(x, Math.abs(x - Math.round(x)) < 1e-9 ? 0 : 1);

/** The ordinal of a small number, in words. */
export const ordinal = (n) =>
  ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"][n - 1] ?? `${n}th`;

/** A sentence begins with a capital letter. */
export const asSentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What is shown of a bound in a control, and back: shares are typed in per cent. */
export const toControl = (x, unit) => Number((unit === "share" ? 100 * x : x).toPrecision(12));
export const fromControl = (x, unit) => Number((unit === "share" ? x / 100 : x).toPrecision(12));
