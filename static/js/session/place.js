// A session after reload and the back button: the window of rows, the event that was read where it was, what was opened.
// Lens, inspector and search are in the address.

import { keep, kept, keyOfEntry } from "../kept-place.js";
import { holdAt, underBars } from "./frame.js";
import { showSide } from "./side.js";

const MOST_OPENED = 60;
const PATIENCE = 3_000; // ms: bodies of opened rows come one by one, and what is read stays where it is meanwhile
const timeline = () => document.getElementById("timeline");
const rowOf = (seq) => document.getElementById(`e-${seq}`) ?? document.getElementById(`r-${seq}`);
const side = () => document.getElementById("side");

// A row, or a closed group that holds rows: heads of turns stick, so they say nothing.
function shownHere() {
  const isInSight = ({ top, bottom }) => bottom > underBars() + 4 && top < innerHeight;
  return [...timeline().querySelectorAll("[data-seq]:not(.turn-head), .group")].find((one) => one.checkVisibility() && isInSight(one.getBoundingClientRect()));
}

function placeNow() {
  const here = shownHere();
  const row = here?.matches("[data-seq]") ? here : here?.querySelector("[data-seq]");
  return { seq: row?.dataset.seq ?? null, top: here?.getBoundingClientRect().top ?? 0, page: scrollY, opened: openedNow(), side: side().dataset.shows };
}

export const openedNow = () => [...timeline().querySelectorAll("details[open][id]")].filter((one) => one.checkVisibility()).slice(0, MOST_OPENED).map((one) => one.id);

// Called before the address changes as well: the entry that is left keeps its own place.
export const keepPlace = () => keep(keyOfEntry(), placeNow());

async function windowAround(seq) {
  const address = new URL(location);
  for (const name of ["event", "turn", "from", "until", "tab"]) address.searchParams.delete(name);
  address.searchParams.set("near", seq);
  await htmx.ajax("GET", address.pathname + address.search, { source: "#panes", target: "#timeline", swap: "outerHTML" }).catch(() => null);
}

// Opens again what was open before its rows came in anew.
export function openAgain(ids) {
  for (const id of ids) {
    const row = document.getElementById(id);
    if (row) { open(row); row.dataset.opened = ""; }
  }
}

function open(row) {
  for (let fold = row; fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

// What of a row is to be seen: itself, or the closed group that it lies in.
function shown(row) {
  let here = row;
  while (here && !here.checkVisibility()) here = here.parentElement.closest("details, [data-seq]");
  return here;
}

async function restore(place) {
  if (!place) return;
  if (place.seq && !rowOf(place.seq)) await windowAround(place.seq);
  openAgain(place.opened);
  if (place.side === "files") showSide("files");
  const row = place.seq && shown(rowOf(place.seq));
  if (!row) { scrollTo({ top: place.page, behavior: "instant" }); return; }
  holdAt(row, place.top);
  const again = () => holdAt(row, place.top, 1);
  const stop = () => document.removeEventListener("htmx:afterSettle", again);
  document.addEventListener("htmx:afterSettle", again);
  for (const moved of ["wheel", "keydown", "pointerdown", "touchstart"]) addEventListener(moved, stop, { once: true, passive: true });
  setTimeout(stop, PATIENCE);
}

// A reload that was asked for before an entry was entered, as while the script of a key was on its way, opens an entry that
// has no name: what was read last of this session is its place.
const isReload = () => performance.getEntriesByType("navigation")[0]?.type === "reload";
const placeHere = () => (history.state?.place ? kept(history.state.place) : isReload() && kept(location.pathname));

// Once the page has gone where its address says.
export function begin() {
  addEventListener("pagehide", () => { keepPlace(); keep(location.pathname, placeNow()); });
  addEventListener("popstate", ({ state }) => restore(state?.place && kept(state.place)));
  const place = placeHere();
  keyOfEntry();
  restore(place);
}
