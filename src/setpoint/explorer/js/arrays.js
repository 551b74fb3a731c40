// Arrays from the text that holds them: base64 of zlib of raw little-endian numbers.

const KINDS = {
  f64: Float64Array,
  u8: Uint8Array,
  u16: Uint16Array,
  i32: Int32Array,
};

/** The numbers of one packed array. */
export async function inflate(packed) {
  const binary = atob(packed.z);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(stream).arrayBuffer();
  const out = new KINDS[packed.t](raw);
  if (out.length !== packed.n) throw new Error(`an array has ${out.length} numbers, not ${packed.n}`);
  return out;
}

/** A value in which every packed array is inflated and every word for a number is one. */
export async function unpacked(value) {
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  if (value === "NaN") return NaN;
  if (Array.isArray(value)) {
    return value.every((x) => typeof x === "number") ? value : Promise.all(value.map(unpacked));
  }
  if (value === null || typeof value !== "object") return value;
  if (typeof value.z === "string" && value.t in KINDS) return inflate(value);
  const entries = Object.entries(value).map(async ([key, x]) => [key, await unpacked(x)]);
  return Object.fromEntries(await Promise.all(entries));
}
