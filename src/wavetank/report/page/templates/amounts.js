// Amounts in words, as the tables of the page have them.
const DASH = "\u2013";
const fixed = (value, digits) => value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: digits < 3 });
const duration = (s) => {
  if (s < 1e-3) return `${fixed(s * 1e6, 0)} us`;
  if (s < 1) return `${fixed(s * 1e3, 0)} ms`;
  if (s < 60) return `${fixed(s, 2)} s`;
  const whole = Math.round(s);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
};
const inUnits = (value, step, units, digits) => {
  let at = 0;
  while (Math.abs(value) >= step && at < units.length - 1) { value /= step; at += 1; }
  return `${value.toFixed(digits(at))} ${units[at]}`;
};
const rate = (value) => inUnits(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], () => 1);
const size = (bytes) => inUnits(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], (at) => (at ? 1 : 0));
const money = (value, currency) => {
  if (value === 0) return `0 ${currency}`;
  if (Math.abs(value) >= 1) return `${fixed(value, 2)} ${currency}`;
  return `${value.toFixed(2 - Math.floor(Math.log10(Math.abs(value))))} ${currency}`;
};
const short = (value) => {
  for (const [factor, unit] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (Math.abs(value) >= factor) return Number((value / factor).toPrecision(3)) + unit;
  }
  return String(Number(value.toPrecision(3)));
};
const shower = (metric) => ({
  s: duration,
  "B/s": rate,
  count: (value) => fixed(value, 0),
  money: (value) => money(value, metric.currency),
  ratio: (value) => `${short(value)} MB/s per ${metric.currency}`,
})[metric.show];
// The ends of an interval with the unit once: "215–234 ms, range of 3".
const between = (estimate, show) => {
  if (estimate.length < 3) return "";
  const [low, high] = [show(estimate[1]), show(estimate[2])];
  const few = estimate.length > 3 ? `, range of ${estimate[3]}` : "";
  if (low === high) return low + few;
  const [number, unit] = [low.split(" ", 1)[0], low.split(" ").slice(1).join(" ")];
  return (high.split(" ").slice(1).join(" ") === unit ? `${number}${DASH}${high}` : `${low} to ${high}`) + few;
};
