// What is behind the number of a configuration: its repetitions and its phases.
const cells = (tag, values) => values.map((value) => {
  const numeric = typeof value === "object" && value !== null && value.numeric;
  const cell = make(tag, numeric ? { class: "n" } : {});
  if (tag === "th") cell.scope = "col";
  cell.append(numeric ? value.numeric : value);
  return cell;
});
const right = (text) => ({ numeric: text });
const smallTable = (title, heads, rows) => {
  const table = make("table", {}, make("caption", {}, title), make("thead", {}, make("tr", {}, ...cells("th", heads))));
  table.append(make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row)))));
  table.classList.add("labelled");
  const titles = heads.map((head) => head.numeric ?? head);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.h = titles[i]; });
  return make("div", { class: "scroll", role: "region", "aria-label": title }, table);
};

const repetitionsOf = (data, c, metric) => {
  const time = data.metrics.find((each) => each.key === "time");
  const show = shower(metric);
  const finished = data.runs[c].filter((run) => run[4] !== null);
  const values = metric.values[c];
  // A configuration may have been measured under another name of its cluster.
  const known = finished.length === values.length;
  const rows = values.map((value, i) => {
    const run = known ? finished[i] : null;
    const row = [right(String(run ? run[0] : i)), right(show(value))];
    if (metric !== time) row.push(right(duration(time.values[c][i])));
    if (known) {
      row.push(right(counted(run[1])), run[2], make("a", { href: `#${run[3]}` }, run[3]), run[5].join("; ") || "none");
    }
    return row;
  });
  const heads = [right("Run"), right(metric.title), ...(metric === time ? [] : [right(time.title)])];
  if (known) heads.push(right("Order"), "Made (UTC)", "Made in", "Findings");
  const failed = data.runs[c].length - finished.length;
  const title = `Repetitions${failed ? `; ${failed} more failed` : ""}`;
  return smallTable(title, heads, rows);
};

const phasesOf = (data, c) => {
  const rows = [];
  data.phases.forEach(([id, file, operation, rs, ranks, bytes], at) => {
    const estimate = data.by_phase[c][at];
    if (!estimate) return;
    const each = data.runs[c].map((run) => run[6][at]).filter((time) => time !== null);
    rows.push([
      right(String(id)), file, operation, right(`${counted(rs)} B`), right(counted(ranks)), right(size(bytes)), right(duration(estimate[0])),
      between(estimate, duration), right(estimate[0] > 0 ? rate(bytes / estimate[0]) : DASH), each.map(duration).join(", ") || DASH,
    ]);
  });
  const heads = [
    right("Phase"), "File", "Operations", right("rs"), right("Ranks"), right("Weight"), right("Time"), "Interval",
    right("Weight / time"), "Time of each repetition",
  ];
  const left = data.n_phases - data.phases.length;
  return smallTable(left > 0 ? `Phases: the ${data.phases.length} with most bytes of ${data.n_phases}` : "Phases", heads, rows);
};

const callsOf = (data, c) => smallTable(
  "Calls that move no data",
  ["Call", right("Calls"), right("Time"), "Interval"],
  data.calls[c].map(([call, n, ...time]) => [call, right(counted(n)), right(duration(time[0])), between(time, duration)]),
);

const takeApart = (data, c, metric) => {
  const { title, mapping, instances, origin } = data.configurations[c];
  const panel = make("div", { class: "apart", role: "group", "aria-label": `Behind the number of ${title}, ${mapping}` });
  const source = metric.computed ? `computed from what was ${origin}` : origin;
  const prices = metric.prices ? `, with the prices of ${metric.prices}` : "";
  panel.append(make("p", { class: "note" }, `${title}, ${mapping}; ${instances}. ${metric.title}: ${source}${prices}.`));
  panel.append(repetitionsOf(data, c, metric));
  if (data.by_phase[c].some(Boolean)) panel.append(phasesOf(data, c));
  if (data.calls[c].length) panel.append(callsOf(data, c));
  return panel;
};
// A button that opens and closes a panel; the panel is made when it is first asked for.
const opener = (label, open, close) => {
  const button = make("button", { type: "button", class: "apart-button", "aria-expanded": "false" }, label);
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!now));
    if (now) close(); else open();
  });
  return button;
};
