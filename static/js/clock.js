// Times that pass: how long something still waits, counted down, and how long ago something was.

import { gettext } from "./words.js";

const UNITS = [[86_400, "d", 3_600, "h"], [3_600, "h", 60, "m"], [60, "m", 1, "s"]];
const SOON = 600; // seconds: from here on it is marked

function duration(seconds) {
  for (const [size, unit, smaller, smallerUnit] of UNITS) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / smaller);
    return rest ? `${Math.floor(seconds / size)} ${unit} ${rest} ${smallerUnit}` : `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${seconds} s`;
}

function ago(seconds) {
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, "s"];
  return seconds < 2 ? gettext("just now") : gettext("%(time)s ago", { time: `${Math.floor(seconds / size)} ${unit}` });
}

function tick() {
  for (const time of document.querySelectorAll("time[data-until]")) {
    const left = Math.floor((new Date(time.dataset.until) - Date.now()) / 1000);
    const words = left >= 1 ? gettext("in %(time)s", { time: duration(left) }) : gettext("now");
    if (time.textContent !== words) time.textContent = words;
    time.classList.toggle("is-soon", left < SOON);
  }
  for (const ring of document.querySelectorAll(".ring-left")) {
    const [from, to] = [new Date(ring.dataset.from), new Date(ring.dataset.to)];
    const share = Math.round(Math.max(0, Math.min(1, (to - Date.now()) / (to - from))) * 100) || 0;
    ring.setAttribute("stroke-dasharray", `${share} 100`);
  }
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const words = ago(Math.max(0, Math.floor((Date.now() - new Date(time.dateTime)) / 1000)));
    if (time.textContent !== words) time.textContent = words;
  }
}

setInterval(tick, 1000);
tick();
