// Lists after reload and the back button: further rows that were loaded, the row that had the focus, chosen rows, where
// the page and its panes were scrolled to.

import { keep, kept, keyOfEntry } from "./kept-place.js";

const MOST_WINDOWS = 20; // of rows that are loaded again: a list that was read further begins there
const MORE = "tr.more > td > a[hx-get]";
const PATIENCE = 5_000; // ms
const PANES = ["inbox-scroll", "chosen"];
const rows = () => [...document.querySelectorAll("[data-row]")];
const boxes = () => [...document.querySelectorAll("main input[type=checkbox][form]")];
const addressKey = () => location.pathname + location.search;

let windows = 0; // of further rows, on top of those that the page came with
let restoring = false;
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.matches?.("tr.more")) windows += 1;
});

function placeNow() {
  const focused = document.activeElement?.closest("[data-row]");
  return {
    windows,
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

const swapped = () => new Promise((resolve) => {
  const done = () => { clearTimeout(giveUp); document.removeEventListener("htmx:afterSettle", done); resolve(); };
  const giveUp = setTimeout(done, 5_000);
  document.addEventListener("htmx:afterSettle", done);
});

async function loadWindows(count) {
  for (let at = 0; at < Math.min(count, MOST_WINDOWS); at += 1) {
    const more = document.querySelector(MORE);
    if (!more) return;
    const came = swapped();
    more.click();
    await came;
  }
}

async function restore(place) {
  if (!place) return;
  restoring = true;
  await loadWindows(place.windows - windows);
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
document.addEventListener("htmx:historyRestore", () => { windows = 0; restore(kept(addressKey())); });
document.addEventListener("DOMContentLoaded", () => { // htmx has made links of further rows its own by then
  if (history.state?.place) restore(kept(history.state.place));
  else keyOfEntry();
});
