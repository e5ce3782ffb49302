// The chart over the usage table: a stacked bar a day, each leading to the day's sessions. The table has the numbers.
// uPlot is no module: a script before this one makes it a global.

const NAMES = [["ai", "AI wallet"], ["data", "data wallet"], ["elsewhere", "external"]];
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
  const sums = days.map(({ amounts: [ai, data, elsewhere] }) => [ai + data + elsewhere, ai + data, ai]);
  return [days.map((day) => Date.parse(day.day) / 1000), ...[0, 1, 2].map((n) => sums.map((sum) => sum[n] || null))];
}

function tipFor(place, days) {
  const tip = document.createElement("div");
  tip.className = "usage-tip";
  tip.hidden = true;
  place.append(tip);
  return (chart) => {
    const at = chart.cursor.idx;
    tip.hidden = at == null || chart.cursor.left < 0;
    if (tip.hidden) return;
    const day = days[at];
    const lines = NAMES.map(([name, words], n) => {
      const line = document.createElement("span");
      line.className = `key key-${name}`;
      line.textContent = `${words} ${day.amounts[n] ? day.texts[n] : "—"}`;
      return line;
    });
    const head = document.createElement("strong");
    head.textContent = `${day.day}, ${day.sessions} session${day.sessions === 1 ? "" : "s"}`;
    tip.replaceChildren(head, ...lines);
    const left = chart.bbox.left / devicePixelRatio + chart.cursor.left;
    const before = left > place.clientWidth / 2;
    tip.style.left = before ? "" : `${left + 12}px`;
    tip.style.right = before ? `${place.clientWidth - left + 12}px` : "";
  };
}

function options(place, days) {
  const ink = colour(place, "--ink-2"), line = colour(place, "--line"), page = colour(place, "--page");
  const bars = uPlot.paths.bars({ size: [0.7, 40], align: 0 });
  const series = ["elsewhere", "data", "ai"].map((name) => {
    const fill = colour(place, `--chart-${name}`);
    return { stroke: page, fill, width: 1, paths: bars, points: { show: false } };
  });
  const grid = { stroke: line, width: 1 };
  return {
    width: place.clientWidth, height: place.clientHeight, tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false, y: false } },
    scales: { x: { range: (chart, low, high) => [low - 43200, high + 43200] }, y: { range: (chart, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    series: [{}, ...series],
    axes: [
      { stroke: ink, grid: { show: false }, ticks: grid, incrs: [1, 2, 7, 14, 28, 91, 182, 365].map((n) => n * 86400), values: (chart, splits) => splits.map(label) },
      { stroke: ink, grid, ticks: { show: false }, size: 64, values: (chart, splits) => splits.map((amount) => `$${amount >= 1 || amount === 0 ? amount.toLocaleString("en") : amount.toPrecision(2).replace(/0+$/, "")}`) },
    ],
    hooks: { setCursor: [tipFor(place, days)] },
  };
}

function label(at) {
  return new Date(at * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

function draw() {
  drawn?.destroy();
  drawn = null;
  const place = document.getElementById("usage-chart");
  if (!place || typeof uPlot === "undefined") return;
  const days = JSON.parse(place.dataset.days);
  if (!days.some((day) => day.amounts.some(Boolean))) return;
  place.hidden = false;
  place.replaceChildren();
  drawn = new uPlot(options(place, days), columns(days), place);
  drawn.over.addEventListener("click", () => {
    if (drawn.cursor.idx != null) location.href = days[drawn.cursor.idx].url;
  });
}

document.addEventListener("DOMContentLoaded", draw);
document.addEventListener("htmx:afterSettle", (event) => { if (event.target.closest("#usage")) draw(); });
document.addEventListener("htmx:historyRestore", draw);
dark.addEventListener("change", draw);
addEventListener("resize", () => {
  const place = document.getElementById("usage-chart");
  if (drawn && place) drawn.setSize({ width: place.clientWidth, height: place.clientHeight });
});
