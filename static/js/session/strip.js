// The band of the whole run: a bracket shows where one reads. What a pointer or a key does on it is in pointing.js.

import { held, isByTime, isPressed, lastSeq, placeOf, places, strip, view } from "./band.js";
import { askFrame, eachFrame, rowsBetween } from "./frame.js";
import { lazy } from "./lazy.js";
import { fetchInPlace, refresh } from "./pieces.js";
import { gettext } from "../words.js";

const REFRESHED_AFTER = 4_000; // ms: a run at work is drawn again so often at the most
const GROWN = "strip-grown";

const pointing = lazy(() => import("./pointing.js"));
document.addEventListener("focusin", ({ target }) => { if (target === view()) pointing.fetch(); });
for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel", "keydown"]) {
  document.addEventListener(name, (event) => {
    if (pointing.isAsked() || event.target.closest?.("#strip .band")) pointing.tell(name, event);
  });
}

eachFrame(() => {
  const bracket = view();
  if (!bracket || !strip().classList.contains("is-live")) return null;
  const shown = held ? [] : rowsBetween(Math.max(0, strip().getBoundingClientRect().bottom) + 4, innerHeight - 8);
  const [first, last] = shown.length ? shown.map((row) => row && Number(row.dataset.seq)) : [held, held];
  const from = first ? placeOf(first) : null;
  const to = last ? placeOf(Math.max(first, last) + 1) : null;
  return () => {
    bracket.hidden = from === null || to === null;
    if (bracket.hidden) return;
    bracket.style.left = `${100 * from}%`;
    bracket.style.width = `${100 * Math.max(0, Math.min(1, to) - from)}%`;
    bracket.setAttribute("aria-valuenow", first);
    bracket.setAttribute("aria-valuetext", gettext("event %(first)s of %(last)s", { first, last: lastSeq() }));
  };
});

// Higher, by time, and what comes in.
function grow(isGrown) {
  const button = strip().querySelector("[data-grow]");
  strip().classList.toggle("is-grown", isGrown);
  document.documentElement.classList.toggle("grown-strip", isGrown);
  button.setAttribute("aria-pressed", isGrown);
  askFrame();
}

export function toggleStrip() {
  if (!strip()) return;
  const isGrown = !strip().classList.contains("is-grown");
  localStorage.setItem(GROWN, isGrown ? "1" : "");
  grow(isGrown);
}

function setUp() {
  if (!strip() || strip().classList.contains("is-live")) return;
  strip().classList.add("is-live");
  strip().querySelector("[data-grow]").hidden = false;
  grow(localStorage.getItem(GROWN) === "1");
  if (isByTime()) places();
}
// Not at afterSwap: until htmx has settled, a new element bears the class of the one with its id that it takes the place of.
document.addEventListener("htmx:afterSettle", setUp);
setUp();

document.addEventListener("click", (event) => {
  if (event.target.closest("#strip [data-grow]")) toggleStrip();
  const link = event.target.closest("#strip a[data-axis]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const address = new URL(location);
  address.searchParams.set("axis", link.dataset.axis);
  history.replaceState(history.state, "", address);
  strip().dataset.piece = strip().dataset.piece.replace(/axis=.*/, `axis=${link.dataset.axis}`);
  refresh("strip", () => fetchInPlace(strip));
});

let growing = null;
document.addEventListener("grew", () => {
  growing ??= setTimeout(() => {
    growing = null;
    if (strip() && !document.hidden && !isPressed) refresh("strip", () => fetchInPlace(strip));
  }, REFRESHED_AFTER);
});
