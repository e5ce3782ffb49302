// Reviews: marks of comments at the events that they are about, and how far the reader has come.

import { rowsBetween } from "./frame.js";
import { ngettext } from "../words.js";

const box = () => document.getElementById("review");

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

// What was pressed in the box has the focus in the answer as well, or the first control of it: keys go on from there.
// Each thread has a form with the address of the box's own, folded until somebody replies.
let pressed = null;
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  const here = document.activeElement;
  if (target.id !== "review" || !target.contains(here)) return; // other parts of the page come meanwhile
  pressed = { id: here.form?.id, action: here.form?.getAttribute("action"), place: [...here.form?.elements ?? []].indexOf(here) };
});
document.addEventListener("htmx:afterSettle", ({ detail: { target } }) => {
  if (target.id !== "review" || !pressed) return;
  const { id, action, place } = pressed;
  pressed = null;
  if (document.activeElement !== document.body) return;
  const forms = [...box().querySelectorAll("form")].filter((one) => one.id === id && one.getAttribute("action") === action);
  const control = forms.map((form) => form.elements[place]).find((one) => one?.checkVisibility());
  (control ?? box().querySelector("a, button, input, summary"))?.focus({ preventScroll: true });
});

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
document.addEventListener("returned", rest);
rest();
document.addEventListener("visibilitychange", () => { if (document.hidden) tell(); });
window.addEventListener("pagehide", tell);
setInterval(() => { if (!document.hidden) tell(); }, EVERY);
