// The chart over the usage table: a stacked bar a day, each leading to the day's sessions, or a bar a month, each
// leading to the month's days. The tables have the numbers.
// The server says which series there are, their colours, and how each amount reads.
// uPlot is no module: a script before this one makes it a global.

import { counted, dateOf, ngettext } from "./words.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
let drawn = null;

function colour(parent, property) {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  parent.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

// Stacked: what is drawn first reaches highest, and the next ones are drawn over its lower part.
function columns(days) {
  const sums = days.map(({ amounts }) => amounts.map((_, n) => amounts.slice(0, n + 1).reduce((sum, one) => sum + one, 0)));
  const count = days[0].amounts.length;
  return [days.map((day) => Date.parse(day.day) / 1000), ...Array.from({ length: count }, (_, n) => sums.map((sum) => sum[count - 1 - n] || null))];
}

function tipFor(place, days, names, byMonth) {
  const tip = document.createElement("div");
  tip.className = "usage-tip";
  tip.hidden = true;
  place.append(tip);
  return (chart) => {
    const at = chart.cursor.idx;
    tip.hidden = at == null || chart.cursor.left < 0;
    if (tip.hidden) return;
    const day = days[at];
    const lines = names.map(({ label: words, colour: name }, n) => {
      const line = document.createElement("span");
      line.className = `key key-${name}`;
      line.textContent = `${words} ${day.amounts[n] ? day.texts[n] : "—"}`;
      return line;
    });
    const head = document.createElement("strong");
    head.textContent = ngettext("%(day)s, %(count)s session", "%(day)s, %(count)s sessions", day.sessions, {
      day: (byMonth ? monthLabel : label)(Date.parse(day.day) / 1000, "numeric"), count: day.sessions,
    });
    tip.replaceChildren(head, ...lines);
    const left = chart.bbox.left / devicePixelRatio + chart.cursor.left;
    const before = left > place.clientWidth / 2;
    tip.style.left = before ? "" : `${left + 12}px`;
    tip.style.right = before ? `${place.clientWidth - left + 12}px` : "";
  };
}

// 1200 -> "1.2 k": ticks of an axis are round numbers.
function short(number, steps) {
  const [size, unit] = steps.find(([least]) => number >= least) ?? [1, ""];
  return `${+(number / size).toPrecision(3)}${unit && ` ${unit}`}`;
}
const WHOLE = Array.from({ length: 28 }, (_, n) => [1, 2, 5][n % 3] * 10 ** Math.floor(n / 3));
const THOUSANDS = [[1e9, "B"], [1e6, "M"], [1e3, "k"]];
const TIMES = [[3_600_000, "h"], [60_000, "m"], [1_000, "s"], [1, "ms"]];
const TICKS = {
  usd: (amount) => `$${Number.isInteger(amount) ? counted(amount) : amount > 1 ? amount.toFixed(2) : amount.toPrecision(2).replace(/0+$/, "").padEnd(4, "0")}`,
  tokens: (amount) => short(amount, THOUSANDS),
  count: (amount) => short(amount, THOUSANDS),
  ms: (amount) => short(amount, TIMES),
};

// The first days of months, as many of them as there is room for.
function months(place, days) {
  const step = Math.ceil(days.length / Math.max(1, Math.floor(place.clientWidth / 90)));
  return days.filter((_, n) => n % step === 0).map(({ day }) => Date.parse(day) / 1000);
}

function options(place, days, names, unit, byMonth) {
  const ink = colour(place, "--ink-2"), line = colour(place, "--line"), page = colour(place, "--page");
  const font = `12px ${getComputedStyle(place).fontFamily}`;
  const bars = uPlot.paths.bars({ size: [0.7, 40, 1], align: 0 });
  const series = names.map((one) => one.colour).reverse().map((name) => {
    const fill = colour(place, `--chart-${name}`);
    return { stroke: page, fill, width: days.length * 4 > place.clientWidth ? 0 : 1, paths: bars, points: { show: false } };
  });
  const grid = { stroke: line, width: 1 };
  const half = byMonth ? 15 * 86400 : 43200;
  const marks = byMonth ? { splits: () => months(place, days) } : { incrs: [1, 2, 7, 14, 28].map((n) => n * 86400) };
  return {
    width: place.clientWidth, height: place.clientHeight, tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false, y: false } },
    scales: { x: { range: (chart, low, high) => [low - half, high + half] }, y: { range: (chart, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    series: [{}, ...series],
    axes: [
      { stroke: ink, font, grid: { show: false }, ticks: grid, ...marks, values: (chart, splits) => splits.map((at) => (byMonth ? monthLabel(at) : label(at))) },
      { stroke: ink, font, grid, ticks: { show: false }, size: 64, ...(unit === "count" && { incrs: WHOLE }), values: (chart, splits) => splits.map(TICKS[unit]) },
    ],
    hooks: { setCursor: [tipFor(place, days, names, byMonth)] },
  };
}

const monthLabel = (at) => dateOf(at * 1000, { month: "short", year: "numeric" });

function label(at, year) {
  return dateOf(at * 1000, { day: "numeric", month: "short", year });
}

function draw() {
  drawn?.destroy();
  drawn = null;
  const place = document.getElementById("usage-chart");
  if (!place || typeof uPlot === "undefined") return;
  const days = JSON.parse(place.dataset.points);
  if (!days.some((day) => day.amounts.some(Boolean))) return;
  place.hidden = false;
  place.replaceChildren();
  drawn = new uPlot(options(place, days, JSON.parse(place.dataset.series), place.dataset.unit, "byMonth" in place.dataset), columns(days), place);
  drawn.over.addEventListener("click", () => {
    const url = days[drawn.cursor.idx]?.url; // none for who sees numbers only
    if (url) location.href = url;
  });
}

document.fonts.ready.then(draw); // letters on a canvas do not change when their font comes
document.addEventListener("htmx:afterSettle", (event) => { if (event.target.closest("#usage")) draw(); });
document.addEventListener("htmx:historyRestore", draw);
dark.addEventListener("change", draw);
addEventListener("resize", () => {
  const place = document.getElementById("usage-chart");
  if (drawn && place) drawn.setSize({ width: place.clientWidth, height: place.clientHeight });
});
