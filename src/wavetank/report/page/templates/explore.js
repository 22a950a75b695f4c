// The explorer: configurations of an application by any metric, filtered, each with what is behind its number.
const SHOWN = 50;

const option = (value, text) => make("option", { value }, text);
const field = (label, control) => make("label", { class: "field" }, make("span", {}, label), control);
const choice = (label, values) => {
  const select = make("select", {}, ...values.map(([value, text]) => option(value, text)));
  return { select, field: field(label, select) };
};
const distinct = (values) => [...new Set(values)];

class Explorer {
  constructor(section, data) {
    this.section = section;
    this.data = data;
    this.limit = SHOWN;
    this.open = new Set();
    this.metric = choice("Metric", distinct(data.metrics.map((each) => each.key))
      .map((key) => [key, data.metrics.find((each) => each.key === key).title]));
    const tables = distinct(data.metrics.map((each) => each.prices).filter(Boolean));
    this.prices = choice("Prices", tables.map((name) => [name, name]));
    this.sorting = choice("Order", [["best", "best first"], ["worst", "worst first"], ["name", "by name"]]);
    const all_of = (key, word) => [["", `all ${word}`], ...distinct(data.configurations.map((each) => each[key])).sort().map((v) => [v, v])];
    this.mapping = choice("Mapping", all_of("mapping", "mappings"));
    this.instances = choice("Instances", all_of("instances", "instances"));
    this.words = make("input", { type: "search", placeholder: "all of these words" });
    this.best = make("input", { type: "checkbox" });
    this.count = make("p", { class: "note", "aria-live": "polite" });
    this.list = make("ol", { class: "bars" });
    this.more = make("p", { class: "note more-rows" });
    const few = (what) => what.select.options.length > 2;
    const controls = make("form", { class: "controls" }, this.metric.field);
    if (tables.length > 1) controls.append(this.prices.field);
    controls.append(this.sorting.field);
    if (few(this.mapping)) controls.append(this.mapping.field);
    if (few(this.instances)) controls.append(this.instances.field);
    controls.append(field("Name", this.words));
    if (data.configurations.some((each) => each.best)) {
      controls.append(make("label", { class: "field check" }, this.best, "Only where nothing is better in time and cost"));
    }
    controls.addEventListener("submit", (event) => event.preventDefault());
    controls.addEventListener("input", () => { this.limit = SHOWN; this.draw(); });
    section.append(controls, this.count, this.list, this.more);
    section.hidden = false;
    this.draw();
  }

  get chosen() {
    const of_key = this.data.metrics.filter((each) => each.key === this.metric.select.value);
    return of_key.find((each) => each.prices === this.prices.select.value) ?? of_key[0];
  }

  found(metric) {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [mapping, instances] = [this.mapping.select.value, this.instances.select.value];
    const kept = this.data.configurations.map((each, c) => ({ ...each, c })).filter((each) =>
      (!mapping || each.mapping === mapping) && (!instances || each.instances === instances) && (!this.best.checked || each.best)
      && words.every((word) => `${each.title} ${each.mapping} ${each.instances}`.toLowerCase().includes(word)));
    const name = (a, b) => order(`${a.title} ${a.mapping}`, `${b.title} ${b.mapping}`);
    if (this.sorting.select.value === "name") return kept.sort(name);
    const sign = (metric.higher ? -1 : 1) * (this.sorting.select.value === "worst" ? -1 : 1);
    const median = (each) => metric.estimates[each.c]?.[0];
    return kept.sort((a, b) => {
      const [x, y] = [median(a), median(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      return sign * (x - y) || name(a, b);
    });
  }

  draw() {
    const metric = this.chosen;
    const found = this.found(metric);
    const shown = found.slice(0, this.limit);
    const reach = Math.max(...shown.map((each) => {
      const estimate = metric.estimates[each.c] ?? [0];
      return Math.max(...estimate.slice(0, 3), ...metric.values[each.c]);
    }), 0) || 1;
    this.list.replaceChildren(...shown.map((each) => this.row(each, metric, reach)));
    const n = this.data.configurations.length;
    const which = found.length === n ? `${counted(n)} configurations` : `${counted(found.length)} of ${counted(n)} configurations`;
    const places = metric.places
      ? "A place is a range where what was measured cannot tell configurations apart."
      : "Ordered by medians; places are given by I/O time, cost and ratio alone.";
    this.count.textContent = `${which}. Median, interval and single repetitions. ${places}`;
    this.more.replaceChildren();
    if (shown.length < found.length) {
      const button = make("button", { type: "button" }, `Show ${counted(Math.min(200, found.length - shown.length))} more`);
      button.addEventListener("click", () => { this.limit += 200; this.draw(); });
      this.more.append(button);
    }
  }

  row(each, metric, reach) {
    const { c } = each;
    const estimate = metric.estimates[c];
    const show = shower(metric);
    const place = metric.places?.[c];
    const item = make("li");
    const panel = () => takeApart(this.data, c, metric);
    const button = opener(`${each.title}, ${each.mapping}`, () => { this.open.add(c); item.append(panel()); }, () => {
      this.open.delete(c);
      item.querySelector(".apart").remove();
    });
    const bar = make("div", { class: "bar", "aria-hidden": "true" });
    const at = (value) => `${(100 * value) / reach}%`;
    if (estimate) {
      const body = make("i", { class: "body" });
      body.style.width = at(estimate[0]);
      bar.append(body);
      if (estimate.length > 2) {
        const whisker = make("i", { class: "whisker" });
        whisker.style.left = at(estimate[1]);
        whisker.style.width = at(estimate[2] - estimate[1]);
        bar.append(whisker);
      }
      if (metric.values[c].length > 1) {
        for (const value of metric.values[c].slice(0, 100)) {
          const dot = make("i", { class: "dot" });
          dot.style.left = at(value);
          bar.append(dot);
        }
      }
    }
    const told = estimate ? [make("b", {}, show(estimate[0])), " ", make("small", {}, between(estimate, show))] : ["not known"];
    item.append(make("div", { class: "bar-row" }, make("span", { class: "place" }, place ?? ""), button, bar, make("span", { class: "value" }, ...told)));
    if (this.open.has(c)) {
      button.setAttribute("aria-expanded", "true");
      item.append(panel());
    }
    return item;
  }
}

const numbersOf = new Map();
for (const section of all("section.explore")) {
  const data = JSON.parse(section.querySelector("template").content.textContent);
  numbersOf.set(section.dataset.of, data);
  new Explorer(section, data);
  for (const link of all(`nav li[data-with="${section.id}"]`)) link.hidden = false;
}

// Each row of a ranking opens what is behind its number.
dressers.push((row, table) => {
  const box = table.closest("[data-by]");
  if (row.dataset.c === undefined || box === null) return;
  const data = numbersOf.get(box.dataset.of);
  const metric = data.metrics.find((each) => each.key === box.dataset.by);
  const cell = row.cells[1];
  let below = null;
  const button = opener(cell.textContent, () => {
    below = make("tr", { class: "below" }, make("td", { colspan: String(row.cells.length) }, takeApart(data, Number(row.dataset.c), metric)));
    row.after(below);
  }, () => below.remove());
  cell.replaceChildren(button);
});
