// Lists after reload and the back button: as many rows as were there, the row that had the focus, chosen rows, where the
// page and its panes were scrolled to.

import { keep, kept, keyOfEntry } from "./kept-place.js";

const MOST_ROWS = 1_000; // that are loaded again: a list that was read further begins there
const MORE = "tr.more > td > a[hx-get]";
const PATIENCE = 5_000; // ms
const PANES = ["inbox-scroll", "chosen"];
const rows = () => [...document.querySelectorAll("[data-row]")];
const boxes = () => [...document.querySelectorAll("main input[type=checkbox][form]")];
const addressKey = () => location.pathname + location.search;

let restoring = false;

function placeNow() {
  const focused = document.activeElement?.closest("[data-row]");
  return {
    rows: rows().length,
    top: scrollY,
    row: focused?.getAttribute("href") ?? null,
    chosen: boxes().filter((box) => box.checked).map((box) => box.value),
    panes: PANES.map((id) => document.getElementById(id)?.scrollTop ?? 0),
  };
}

function leave() {
  if (restoring) return;
  const place = placeNow();
  keep(keyOfEntry(), place);
  keep(addressKey(), place); // htmx writes states of its own when a filter changes the address
}

// htmx tells of a swap once for each element that came in, and of others' swaps as well.
const settled = (more) => new Promise((resolve) => {
  const listener = ({ detail }) => { if (detail.target === more) done(); };
  const done = () => { clearTimeout(giveUp); document.removeEventListener("htmx:afterSettle", listener); resolve(); };
  const giveUp = setTimeout(done, PATIENCE);
  document.addEventListener("htmx:afterSettle", listener);
});

async function loadRows(count) {
  for (let before = -1; before < rows().length && rows().length < Math.min(count, MOST_ROWS);) {
    before = rows().length;
    const link = document.querySelector(MORE);
    if (!link) return;
    const came = settled(link.closest("tr"));
    link.click();
    await came;
  }
}

async function restore(place) {
  if (!place) return;
  restoring = true;
  await loadRows(place.rows);
  for (const box of boxes()) box.checked = place.chosen.includes(box.value);
  const row = place.row && rows().find((one) => one.getAttribute("href") === place.row);
  row?.focus({ preventScroll: true });
  scrollTo({ top: place.top, behavior: "instant" });
  holdPanes(place.panes);
  restoring = false;
}

// Their rows may come after the page: until then, or until somebody scrolls, they are scrolled again.
function holdPanes(tops) {
  const scroll = () => PANES.forEach((id, at) => { const pane = document.getElementById(id); if (pane) pane.scrollTop = tops[at]; });
  const stop = () => document.removeEventListener("htmx:afterSettle", scroll);
  scroll();
  document.addEventListener("htmx:afterSettle", scroll);
  for (const moved of ["wheel", "keydown", "pointerdown", "touchstart"]) addEventListener(moved, stop, { once: true, passive: true });
  setTimeout(stop, PATIENCE);
}

addEventListener("pagehide", leave);
document.addEventListener("htmx:beforeHistorySave", leave);
document.addEventListener("htmx:historyRestore", () => restore(kept(addressKey())));
document.addEventListener("DOMContentLoaded", () => { // htmx has made links of further rows its own by then
  if (history.state?.place) restore(kept(history.state.place));
  else keyOfEntry();
});
