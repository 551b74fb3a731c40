/**
 * Elements are made here, and changed only where they would differ: in a drag most texts and
 * places stay as they are, and what is not written costs the browser nothing.
 */

const SVG = "http://www.w3.org/2000/svg";

const dressed = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
};

/**
 * An HTML element.
 * @param {string} tag
 * @param {object} attributes those that begin with "on" listen; null and false are left out
 * @param {...(Node|string|null)} children
 */
export const element = (tag, attributes = {}, ...children) =>
  dressed(document.createElement(tag), attributes, children);

/** An SVG element; the arguments are those of `element`. */
export const drawing = (tag, attributes = {}, ...children) =>
  dressed(document.createElementNS(SVG, tag), attributes, children);

/** A sign for tones: a shape, so that colour is not all. */
export const sign = () =>
  drawing("svg", { class: "sign", "aria-hidden": "true", focusable: "false" }, drawing("use"));

/** Gives a sign its tone: "shown", "open" or "fails"; of others there is none. */
export const toneOn = (node, tone) => {
  const known = ["shown", "open", "fails"].includes(tone);
  setOn(node, "class", known ? "sign" : "sign none");
  if (known) setOn(node.firstChild, "href", `#sign-${tone}`);
};

/** Writes a text for people: a number and its per cent sign stay on one line. */
export const put = (node, text) => putExact(node, text.replace(/(\d) %/g, "$1\u00a0%"));

/** Writes a text to copy as it is. */
export const putExact = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

/** Sets an attribute, where it is another one. */
export const setOn = (node, name, value) => {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
};

/** Shows or hides an element. */
export const showIf = (node, shown) => {
  if (node.hidden === shown) node.hidden = !shown;
};
