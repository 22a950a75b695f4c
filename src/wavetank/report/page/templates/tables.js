// Tables: sort by a column, keep the rows that hold some words.
// A long table is the text of a <noscript> until it is seen; its rows are made when they are shown.
const FIRST_ROWS = 50;
const MORE_ROWS = 200;

const ENTITIES = { lt: "<", gt: ">", quot: '"', amp: "&", "#34": '"', "#39": "'" };
const decoded = (html) => html.replace(/&(#?\w+);/g, (whole, name) => ENTITIES[name] ?? whole);
const wordsOf = (html) => decoded(html.replace(/<[^>]*>/g, " ")).trim();

const order = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, undefined, { numeric: true });
};

class Rows {
  // held: the rows as HTML, or null where they are in the table already.
  constructor(table, held) {
    this.table = table;
    this.body = table.tBodies[0];
    this.titles = all("thead th", table).map((head) => head.textContent);
    if (this.titles.length > 3) table.classList.add("labelled");
    this.items = held === null ? [...this.body.rows].map((row) => ({ row })) : held.map((html) => ({ html }));
    this.sorted = this.items;
    this.words = [];
    this.limit = held === null ? Infinity : FIRST_ROWS;
    this.more = make("p", { class: "note more-rows" });
    this.count = make("span", { "aria-live": "polite" });
    table.closest(".scroll").after(this.more);
    if (held === null) this.items.forEach((item) => this.dress(item.row));
  }

  // What a row is sorted by.
  key(item, column) {
    const cell = item.html === undefined ? item.row.cells[column] : item.html.split("<td")[column + 1];
    const raw = typeof cell === "string"
      ? decoded(/^[^>]* data-[vs]="([^"]*)"/.exec(cell)?.[1] ?? wordsOf(cell.slice(cell.indexOf(">") + 1)))
      : cell.dataset.v ?? cell.dataset.s ?? cell.textContent.trim();
    const plain = raw.replace(/,/g, "");
    return plain !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : raw;
  }

  text(item) {
    item.text ??= (item.html === undefined ? item.row.textContent : wordsOf(item.html)).toLowerCase();
    return item.text;
  }

  sort(column, down) {
    const keyed = this.items.map((item) => [this.key(item, column), item]);
    keyed.sort((a, b) => (down ? order(b[0], a[0]) : order(a[0], b[0])));
    this.sorted = keyed.map((pair) => pair[1]);
    this.draw();
  }

  filter(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.draw();
  }

  // In a narrow window a row is a block, and each cell says what it is.
  dress(row) {
    [...row.cells].forEach((cell, i) => { cell.dataset.h = this.titles[i]; });
    for (const dresser of dressers) dresser(row, this.table);
  }

  draw() {
    const found = this.words.length
      ? this.sorted.filter((item) => this.words.every((word) => this.text(item).includes(word)))
      : this.sorted;
    const shown = found.slice(0, this.limit);
    const missing = shown.filter((item) => item.row === undefined);
    if (missing.length) {
      const made = document.createElement("template");
      made.innerHTML = missing.map((item) => item.html).join("");
      [...made.content.children].forEach((row, i) => { missing[i].row = row; this.dress(row); });
    }
    for (const below of all("tr.below", this.body)) below.previousElementSibling.querySelector(".apart-button").click();
    this.body.replaceChildren(...shown.map((item) => item.row));
    const n = found.length;
    this.count.textContent = n === this.items.length ? `${counted(n)} rows` : `${counted(n)} of ${counted(this.items.length)} rows`;
    this.more.replaceChildren();
    if (shown.length < n) {
      const next = Math.min(MORE_ROWS, n - shown.length);
      const button = make("button", { type: "button" }, `Show ${counted(next)} more`);
      button.addEventListener("click", () => { this.limit += MORE_ROWS; this.draw(); });
      this.more.append(`The first ${counted(shown.length)} of ${counted(n)} rows. `, button);
    }
  }
}

const equipped = new Map();
const equip = (table, held = null) => {
  const rows = new Rows(table, held);
  equipped.set(table, rows);
  const heads = all("thead th", table);
  if (rows.items.length > 1) {
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        rows.sort(column, down);
      });
    });
  }
  if (table.dataset.filter !== undefined) {
    const label = "Filter the rows of: " + table.caption.textContent;
    const input = make("input", { type: "search", placeholder: "Filter rows", "aria-label": label });
    input.addEventListener("input", () => rows.filter(input.value));
    table.closest(".scroll").before(make("div", { class: "filter" }, input, rows.count));
  }
  if (held !== null || table.dataset.filter !== undefined) rows.draw();
};

// A long table, out of its text: all but its rows at once.
const wake = (text) => {
  const html = text.textContent;
  const start = html.indexOf("<tbody>") + "<tbody>".length;
  const end = html.lastIndexOf("</tbody>");
  const held = html.slice(start, end).split("</tr>").slice(0, -1).map((row) => row.trimStart() + "</tr>");
  const made = document.createElement("template");
  made.innerHTML = html.slice(0, start) + html.slice(end);
  const table = made.content.querySelector("table");
  text.replaceWith(made.content);
  equip(table, held);
};
const wakeIn = (root) => {
  for (const text of all("noscript.rows", root)) {
    if (text.closest("details:not([open]), [hidden]") === null) wake(text);
  }
};
const inDetails = new Set(all("noscript.rows").map((text) => text.closest("details")));
for (const details of inDetails) details?.addEventListener("toggle", () => wakeIn(details));
// On paper a table has all of its rows, up to a thousand.
addEventListener("beforeprint", () => {
  for (const rows of equipped.values()) {
    if (rows.limit < 1000) { rows.limit = 1000; rows.draw(); }
  }
});
