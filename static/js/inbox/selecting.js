// Moving through the list by keys and clicks; what a key does on the card of the selected row.

import { lookAt } from "../attention.js";
import { CHOICES, chooseOnCard, closeChoice } from "../card-keys.js";
import { isTyping, keyOf } from "../keyboard.js";
import { onShown, prefetch, put, rememberFirst, show, shownCard, shownId } from "./cards.js";
import { allRows, current, inbox, isOpen, mark, neighbour, openRows, rowOf } from "./rows.js";

const onePane = matchMedia("(max-width: 47.99rem)"); // list and card are pages of their own there: links lead
const PAGE = 0.8; // of the pane's height: what was read last stays in sight
let waitingKeys = []; // pressed while the card of the selected row was on its way

export async function select(row) {
  waitingKeys = [];
  mark(row);
  history.replaceState(history.state, "", row.querySelector("a[id]").href);
  if ((await show(row)) && current() === row) pressWaiting();
}

export function showEmpty() {
  put(document.getElementById("inbox-empty").innerHTML);
  document.getElementById("led-place").replaceChildren();
}

function pressWaiting() {
  const keys = waitingKeys;
  waitingKeys = [];
  for (const key of keys) {
    if (key === "Enter") document.activeElement.closest(".choice-inside button")?.click();
    else chooseOnCard(shownCard(), CHOICES[key]);
  }
}

const isShown = () => shownId() && shownId() === current()?.dataset.id;

function move(by) {
  const here = current();
  const to = here && allRows().includes(here) ? neighbour(here, by) : openRows()[0];
  if (to) select(to);
  else if (by > 0) document.querySelector("#inbox-more a")?.click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") || !document.getElementById("chosen").checkVisibility()) return;
  const key = keyOf(event);
  if (key === "j" || key === "k") {
    event.preventDefault();
    return move(key === "j" ? 1 : -1);
  }
  if (event.key === "Escape") return closeChoice(shownCard());
  if (event.key === " " && !event.target.closest("button, input, summary, pre")) {
    event.preventDefault(); // the focus is in the list, and what is read is the card
    const pane = document.getElementById("chosen");
    return pane.scrollBy({ top: (event.shiftKey ? -PAGE : PAGE) * pane.clientHeight });
  }
  if (event.key === "Enter" && waitingKeys.length) {
    event.preventDefault();
    waitingKeys.push("Enter");
  }
  if (!CHOICES[key]) return;
  event.preventDefault();
  if (event.repeat || !isOpen(current())) return; // a key that is held down decides one thing
  if (isShown()) chooseOnCard(shownCard(), CHOICES[key]);
  else waitingKeys.push(key);
});

inbox.addEventListener("click", (event) => {
  const row = event.target.closest("#inbox-rows a[id]")?.closest(".inbox-row");
  if (!row || onePane.matches || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  select(row);
});

// The row of the card that the page opened with may come after the first ones.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const row = detail.target.matches?.(".inbox-more") && !current() && rowOf(shownId());
  if (row) mark(row);
});

onShown(lookAt);
lookAt(shownCard());
rememberFirst();
if (current()) prefetch(current());
