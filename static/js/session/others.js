// What others say of a session comes when nobody is at the box of its review. live.js fetches this with the first news of it.

import { isBeingFilledIn } from "../keyboard.js";
import { refreshById } from "./pieces.js";
import { openAgain } from "./place.js";

const EVERY = 1_000; // ms: who leaves the box finds it as it is now
let changed = false;
const box = () => document.getElementById("review");

// A verdict that was chosen and not sent is written, too.
const isChosen = ({ options, selectedIndex, checked, defaultChecked }) => (options
  ? selectedIndex !== Math.max(0, [...options].findIndex((one) => one.defaultSelected))
  : checked !== defaultChecked);
const isWritten = (piece) => piece.contains(document.activeElement) || isBeingFilledIn(piece)
  || [...piece.querySelectorAll("select, input")].some(isChosen);

// What was unfolded stays so.
function look() {
  const shown = box();
  if (!changed || !shown.dataset.piece || isWritten(shown)) return;
  changed = false;
  const open = [...shown.querySelectorAll("details[open][id]")].map(({ id }) => id);
  refreshById("review").then(() => openAgain(open));
}
setInterval(look, EVERY);

export function news() {
  changed = true;
  look();
}

// Somebody may have begun while the answer was on its way.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target, requestConfig } = detail;
  if (target !== box() || requestConfig.elt !== target || !target.dataset.piece || !isWritten(target)) return;
  detail.shouldSwap = false;
  changed = true;
});
