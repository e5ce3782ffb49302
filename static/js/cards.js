// Cards of approvals: j and k reach them like rows, a e r d decide on the one that is focused. On a page of several the
// next one is focused after a decision; in the inbox the next one takes the place of the one that was decided.

import { chooseOnCard, isTyping } from "./keyboard.js";

const CHOICES = { a: "approve", e: "edit", r: "answer", d: "deny" };
const inbox = () => document.getElementById("approvals");
const currentLine = () => document.querySelector(".inbox-list a[aria-current]");
let cardBehindSubmitted = null;

function makeCardsFocusable() {
  for (const card of document.querySelectorAll(".card.is-open")) {
    if (!card.closest(".inbox")) card.dataset.row = "";
    card.tabIndex = -1;
  }
}

// The card that is focused, or in the inbox the card of the line that is.
function cardAt(element) {
  return element.closest(".card.is-open") ?? (element === currentLine() ? document.querySelector(".inbox .card.is-open") : null);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "j" || event.key === "k") return showFocusedLine();
  const choice = CHOICES[event.key];
  if (choice && chooseOnCard(cardAt(event.target), choice)) event.preventDefault();
});

// desk.js, whose listener comes first because its script does, has moved the focus to another line of the inbox.
function showFocusedLine() {
  const line = document.activeElement.closest(".inbox-list a");
  if (line && line !== currentLine()) line.click();
}

document.addEventListener("submit", (event) => {
  cardBehindSubmitted = event.target.closest(".card")?.nextElementSibling ?? null;
});

document.addEventListener("decided", async () => {
  if (inbox()?.dataset.next) {
    await htmx.ajax("GET", inbox().dataset.next, { target: "#approvals", swap: "outerHTML" });
    history.replaceState(history.state, "", currentLine()?.href ?? location.pathname);
    currentLine()?.focus();
  } else if (cardBehindSubmitted?.matches(".card.is-open")) cardBehindSubmitted.focus();
});

document.addEventListener("htmx:afterSwap", makeCardsFocusable);
makeCardsFocusable();
