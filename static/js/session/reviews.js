// Reviews: comments at the events that they are about, the key that begins one, and how far the reader has come.

import { showSide } from "./side.js";
import { ngettext } from "../words.js";

const box = () => document.getElementById("review");

function openBox() {
  const overview = document.getElementById("side-overview");
  showSide("overview");
  if (!overview.checkVisibility()) overview.showPopover();
}

// Opens the form of a comment, filled in with the event.
export function commentOn(seq) {
  openBox();
  const form = document.getElementById("comment-form");
  if (!form) return;
  form.elements.first_seq.value = form.elements.last_seq.value = seq || "";
  form.scrollIntoView({ block: "nearest" });
  form.elements.text.focus();
}

// A mark with the number of open comments at each row that has some. Rows come and go while the page is scrolled.
function marks() {
  const counts = JSON.parse(box()?.dataset.comments ?? "{}");
  const missing = Object.entries(counts).map(([seq, count]) => [document.getElementById(`e-${seq}`), count])
    .filter(([row, count]) => row && row.querySelector(":scope .comment-mark")?.textContent !== String(count));
  const stale = [...document.querySelectorAll("#timeline .comment-mark")].filter((mark) => !counts[mark.dataset.about]);
  for (const mark of stale) mark.remove();
  for (const [row, count] of missing) put(row, count);
}

function put(row, count) {
  row.querySelector(".comment-mark")?.remove();
  const mark = document.createElement("button");
  mark.className = "link comment-mark";
  mark.dataset.about = row.dataset.seq;
  mark.textContent = count;
  mark.title = mark.ariaLabel = ngettext("%(count)s comment", "%(count)s comments", count, { count });
  (row.querySelector(".who") ?? row.firstElementChild ?? row).append(" ", mark);
}

document.addEventListener("click", (event) => {
  const mark = event.target.closest(".comment-mark");
  if (!mark) return;
  event.preventDefault();
  openBox();
  [...box().querySelectorAll(".thread")].find((one) => one.dataset.first === mark.dataset.about)?.scrollIntoView({ block: "nearest" });
});

// The last event that was in sight is told when the page is left or hidden, and every half a minute.
const EVERY = 30_000; // ms
let furthest = 0;
let told = 0;

// One question to the browser, after the page has come to rest: rows far away are not laid out for it.
function look() {
  const timeline = document.getElementById("timeline").getBoundingClientRect();
  const lowest = Math.min(innerHeight - 96, timeline.bottom - 8); // above the composer
  const row = document.elementFromPoint(timeline.left + timeline.width / 2, lowest)?.closest("#timeline [data-seq]");
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
document.addEventListener("returned", rest);
rest();
document.addEventListener("visibilitychange", () => { if (document.hidden) tell(); });
window.addEventListener("pagehide", tell);
setInterval(() => { if (!document.hidden) tell(); }, EVERY);
