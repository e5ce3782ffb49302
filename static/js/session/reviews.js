// Reviews: marks of comments at the events that they are about, and how far the reader has come.

import { rowsBetween } from "./frame.js";
import { ngettext } from "../words.js";

const box = () => document.getElementById("review");

// A mark with the number of open comments at each row that has some, or at the closed run that it lies in. Rows come and
// go while the page is scrolled.
const runOf = (seq) => [...document.querySelectorAll("#timeline .joined")].find(({ dataset: { seq: first, last } }) => Number(first) <= seq && seq <= Number(last));
function shownAt(seq) {
  const row = document.getElementById(`e-${seq}`);
  return row?.checkVisibility() ? row : (row?.parentElement.closest("details:not([open])") ?? runOf(seq))?.firstElementChild;
}

function marks() {
  const wanted = new Map();
  for (const [seq, count] of Object.entries(JSON.parse(box()?.dataset.comments ?? "{}"))) {
    const row = shownAt(seq);
    if (row) wanted.set(row, { about: wanted.get(row)?.about ?? seq, count: (wanted.get(row)?.count ?? 0) + count });
  }
  for (const mark of document.querySelectorAll("#timeline .comment-mark")) {
    if (wanted.get(mark.row)?.count === Number(mark.textContent)) wanted.delete(mark.row);
    else mark.remove();
  }
  for (const [row, { about, count }] of wanted) put(row, about, count);
}

function put(row, about, count) {
  const mark = document.createElement("button");
  mark.className = "link comment-mark";
  mark.row = row;
  mark.dataset.about = about;
  mark.textContent = count;
  mark.title = mark.ariaLabel = ngettext("%(count)s comment", "%(count)s comments", count, { count });
  (row.querySelector(".who") ?? row.firstElementChild ?? row).append(" ", mark);
}

// A mention leads to a comment: where the overview is a sheet, it opens.
if (/^#(review|comment-.+)$/.test(location.hash) && !box().checkVisibility()) {
  document.getElementById("side-overview").showPopover();
  (document.querySelector(":target") ?? box()).scrollIntoView({ block: "center" });
}

// The last event that was in sight is told when the page is left or hidden, and every half a minute.
const EVERY = 30_000; // ms
let furthest = 0;
let told = 0;

function look() {
  const [, row] = rowsBetween(0, innerHeight - 96); // above the composer
  if (row) furthest = Math.max(furthest, Number(row.dataset.seq));
  marks();
}

let timer = null;
function rest() {
  clearTimeout(timer);
  timer = setTimeout(look, 300);
}

function tell() {
  const address = document.querySelector("[data-seen]")?.dataset.seen;
  if (!address || furthest <= told) return;
  const body = new FormData();
  body.set("seq", furthest);
  body.set("csrfmiddlewaretoken", JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"]);
  if (navigator.sendBeacon(address, body)) told = furthest;
}

document.addEventListener("scroll", rest, { passive: true });
document.addEventListener("htmx:afterSwap", rest);
document.addEventListener("toggle", rest, { capture: true });
document.addEventListener("returned", rest);
rest();
document.addEventListener("visibilitychange", () => { if (document.hidden) tell(); });
window.addEventListener("pagehide", tell);
setInterval(() => { if (!document.hidden) tell(); }, EVERY);
