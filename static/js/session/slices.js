// Rows that come in below are laid out a few at a time, each few in a task of their own: a window at once holds up the page.

import { askFrame } from "./frame.js";

const FEW = 6;
const nextTask = () => new Promise((resolve) => setTimeout(resolve));
let above = null; // what the window that comes now will stand below
const late = []; // rows that are on the page and not laid out yet
let more = null; // what asks for the next window: not before this one is there
let isAtIt = false;

document.addEventListener("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  above = shouldSwap && target.matches?.("#timeline:not([data-replay]) > .more.after") ? target.previousElementSibling : null;
});

// Before navigation.js joins turns that go on: what comes in is told from what was there by its place.
document.addEventListener("htmx:afterSwap", () => {
  if (!above?.isConnected) return;
  const rows = [];
  for (let piece = above.nextElementSibling; piece; piece = piece.nextElementSibling) {
    rows.push(...piece.querySelectorAll(":scope > .rows > *"));
    if (piece.matches(".more.after")) wait(piece);
  }
  above = null;
  late.push(...rows);
  for (const row of rows) row.classList.add("is-late");
  layOut();
});

function wait(sentinel) {
  more = sentinel;
  more.dataset.hxRevealed = "true"; // so htmx notes that it has asked
}

async function layOut() {
  if (isAtIt) return;
  isAtIt = true;
  while (late.length) {
    await nextTask();
    show(FEW);
    document.getElementById("timeline").getBoundingClientRect(); // here, and not in the task that also paints
  }
  isAtIt = false;
  goOn();
}

function show(count) {
  for (const row of late.splice(0, count)) row.classList.remove("is-late");
}

function goOn() {
  if (!more?.isConnected) return;
  delete more.dataset.hxRevealed;
  more = null;
  askFrame();
  window.dispatchEvent(new Event("scroll")); // htmx looks again whether it is in sight
}

// Who acts now acts on all that came.
for (const name of ["keydown", "click", "beforeprint"]) addEventListener(name, () => show(Infinity), { capture: true });
