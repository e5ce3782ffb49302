// Cards: j and k reach them like rows, a e r d decide on the one that is focused. On a page of several the next
// one is focused after a decision; in the inbox the next one takes the place of the one that was decided.
"use strict";

const CHOICES = { a: "approve", e: "edit", r: "answer", d: "deny" };
const inbox = () => document.getElementById("approvals");
const chosen = () => document.querySelector(".inbox-list a[aria-current]");
let following = null;

function prepare() {
  for (const card of document.querySelectorAll(".card.is-open")) {
    if (!card.closest(".inbox")) card.dataset.row = "";
    card.tabIndex = -1;
  }
}

// The card that a key means: the one that is focused, or the one whose line in the inbox is.
function meant(element) {
  return element.closest(".card.is-open") ?? (element === chosen() ? document.querySelector(".inbox .card.is-open") : null);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === "j" || event.key === "k") return follow();
  const choice = CHOICES[event.key] && meant(event.target)?.querySelector(`[data-choice=${CHOICES[event.key]}]`);
  if (!choice) return;
  event.preventDefault();
  if (choice.matches("textarea")) return choice.focus();
  if (!choice.matches("details")) return choice.click();
  choice.open = true;
  choice.querySelector("textarea, .choice-inside button").focus();
});

// desk.js moved the focus to another line of the inbox: its card is shown.
function follow() {
  const line = document.activeElement.closest(".inbox-list a");
  if (line && line !== chosen()) line.click();
}

document.addEventListener("submit", (event) => {
  following = event.target.closest(".card")?.nextElementSibling ?? null;
});

document.addEventListener("decided", async () => {
  if (inbox()?.dataset.next) {
    await htmx.ajax("GET", inbox().dataset.next, { target: "#approvals", swap: "outerHTML" });
    history.replaceState(history.state, "", chosen()?.href ?? location.pathname);
    chosen()?.focus();
  } else if (following?.matches(".card.is-open")) following.focus();
});

document.addEventListener("htmx:afterSwap", prepare);
prepare();
