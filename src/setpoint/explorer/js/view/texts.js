/** Take this: the goal, the commands and the rule as texts, each with a button that copies it. */

import { element, put, putExact, showIf } from "./elements.js";

const TEXT_KINDS = [
  ["goal", "The goal"],
  ["python", "In Python"],
  ["shell", "At a shell"],
  ["json", "The rule as JSON"],
  ["sql", "The rule as SQL"],
];

/** A text with its button. Where the clipboard is closed to the page, the text is selected. */
class Copied {
  constructor(words, settle) {
    this.text = element("pre", { class: "command", tabindex: 0, "aria-label": words });
    this.said = element("span", { class: "said", role: "status" });
    this.button = element("button", { type: "button", "aria-label": `Copy: ${words}` }, "Copy");
    this.button.addEventListener("click", async () => {
      settle();
      put(this.said, (await this.copy()) ? "Copied." : "Selected: copy it with Ctrl+C.");
    });
    this.node = element(
      "div",
      { class: "copied" },
      element("h3", {}, words),
      element("p", { class: "tools" }, this.said, this.button),
      this.text,
    );
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(this.text);
      return false;
    }
  }

  update(text) {
    showIf(this.node, Boolean(text));
    if (this.text.textContent === text) return;
    putExact(this.text, text ?? "");
    put(this.said, "");
  }
}

/** All the texts. */
export class Texts {
  /** @param {() => void} settle brings the texts up to date before one is copied */
  constructor(settle) {
    this.all = TEXT_KINDS.map(([key, words]) => [key, new Copied(words, settle)]);
    this.node = element(
      "section",
      { class: "taken" },
      element("h2", {}, "Take this"),
      ...this.all.map(([, copied]) => copied.node),
    );
  }

  /** @param {object} taken the texts by kind */
  update(taken) {
    for (const [key, copied] of this.all) copied.update(taken[key]);
  }
}
