// What tests measure in a page: contrast of texts, pictures, widths, requests.
const parts = c => {
  const m = c.match(/[\d.]+/g).map(Number);
  return m.length < 4 ? [...m, 1] : m;
};
const over = (top, below) => {
  const a = top[3] + below[3] * (1 - top[3]);
  if (!a) return [0, 0, 0, 0];
  const mixed = i => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a;
  return [0, 1, 2].map(mixed).concat(a);
};
const linear = x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
const light = c => {
  const [r, g, b] = c.map(x => linear(x / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const above = e => e ? [e, ...above(e.parentElement)] : [];
// Both are asked of the same elements again and again.
const kept = (of, known = new Map()) => e =>
  known.has(e) ? known.get(e) : known.set(e, of(e)).get(e);
const faded = kept(e => e ? getComputedStyle(e).opacity * faded(e.parentElement) : 1);
const filled = kept(e => {
  const s = getComputedStyle(e);
  const drawn = e instanceof SVGElement && !(e instanceof SVGSVGElement);
  const paint = drawn ? s.fill : s.backgroundColor;
  if (!paint.startsWith("rgb")) return [0, 0, 0, 0];
  const c = parts(paint);
  c[3] *= (drawn ? Number(s.fillOpacity) : 1) * faded(e);
  return c;
});
const ground = (e, box) => {
  let stack = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  // What is scrolled out of sight is not hit.
  if (!stack.includes(e)) stack = above(e);
  const below = stack.filter(x => !x.closest("text")).reverse();
  return below.reduce((c, x) => over(filled(x), c), [255, 255, 255, 1]);
};
const texts = () => {
  const faint = [];
  let checked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest("script") || !e.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = [...range.getClientRects()].find(r => r.width > 0 && r.height > 0);
    if (!box) continue;
    const style = getComputedStyle(e);
    const ink = parts(e instanceof SVGElement ? style.fill : style.color);
    ink[3] *= faded(e);
    const below = ground(e, box);
    const found = contrast(over(ink, below), below);
    checked += 1;
    if (found < 4.5) faint.push(`${found.toFixed(2)}: ${node.data.slice(0, 60)}`);
  }
  return {checked, faint};
};
const pictures = () => {
  const cut = [], small = [];
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    const whole = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal ? whole.width / svg.viewBox.baseVal.width : 1;
    for (const text of svg.querySelectorAll("text")) {
      const r = text.getBoundingClientRect(), name = text.textContent.slice(0, 60);
      const inside = r.left >= whole.left - 2 && r.right <= whole.right + 2;
      if (!inside || r.top < whole.top - 2 || r.bottom > whole.bottom + 2) cut.push(name);
      if (parseFloat(getComputedStyle(text).fontSize) * (scale || 1) < 8) small.push(name);
    }
  }
  return {cut, small};
};
const measure = () => ({
  ...texts(),
  ...pictures(),
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  paper: getComputedStyle(document.body).backgroundColor,
  inner: innerWidth,
  scroll: document.documentElement.scrollWidth,
  height: document.documentElement.scrollHeight,
  requests: performance.getEntriesByType("resource").map(x => x.name),
});
