/** Groups side by side: how many of each are accepted, and how many of those rightly. */

import { element, put } from "./elements.js";
import { inUnit, people } from "./figures.js";

const SHARES_OF = [
  ["accepted", ({ share }) => share],
  ["right", ({ precision }) => precision],
  ["found", ({ recall }) => recall],
];

const MOST_VALUES = 40;

/** A table for each column of groups. */
export class Groups {
  /** @param {object[]} groups those of any point */
  constructor(groups) {
    this.tables = groups.map(({ column, values }) => this.table(column, values));
    this.node = element(
      "section",
      { class: "grouped", hidden: groups.length === 0 },
      element("h2", {}, "Groups"),
      ...this.tables.map(({ node }) => node),
      element(
        "p",
        { class: "hint" },
        "accepted: of all rows of the group; right: of those accepted; found: of those of the class.",
      ),
    );
  }

  table(column, values) {
    const rows = values.slice(0, MOST_VALUES).map(({ value, people: count }) => {
      const cells = SHARES_OF.map(([head]) => {
        const [number, fill] = [element("span", { class: "number" }), element("i")];
        const meter = element("span", { class: "meter", "aria-hidden": "true" }, fill);
        return { number, fill, node: element("td", { "data-head": head }, number, meter) };
      });
      const name = element("th", { scope: "row" }, element("bdi", {}, String(value)));
      const many = element("td", { "data-head": "rows" }, people(count));
      return { cells, node: element("tr", {}, name, many, ...cells.map(({ node }) => node)) };
    });
    const head = [column, "rows", ...SHARES_OF.map(([words]) => words)];
    const node = element(
      "table",
      { class: "by-groups" },
      element("thead", {}, element("tr", {}, ...head.map((x) => element("th", { scope: "col" }, x)))),
      element("tbody", {}, ...rows.map((row) => row.node)),
    );
    if (values.length > MOST_VALUES) {
      node.append(element("caption", {}, `${MOST_VALUES} of ${values.length} groups`));
    }
    return { node, rows };
  }

  /** @param {object[]} groups those of the chosen point */
  update(groups) {
    groups.forEach(({ values }, i) => {
      this.tables[i].rows.forEach(({ cells }, k) => {
        SHARES_OF.forEach(([, read], j) => {
          const share = read(values[k]);
          put(cells[j].number, inUnit(share, "share"));
          cells[j].fill.style.setProperty("--part", Number.isFinite(share) ? share.toFixed(4) : "0");
        });
      });
    });
  }
}
