// Keys of cards of approvals, on every page that has some.

import { isTyping } from "./keyboard.js";

export const CHOICES = { a: "approve", e: "edit", r: "answer", d: "deny" };

// The letters of a card's buttons: presses a button, opens what it unfolds, or focuses its field. False without it.
export function chooseOnCard(card, name) {
  const choice = card?.querySelector(`[data-choice=${name}]`);
  if (!choice) return false;
  if (choice.matches("textarea")) choice.focus();
  else if (choice.matches("details")) {
    choice.open = true;
    choice.querySelector("textarea, input:not([type=hidden], [type=checkbox]), .choice-inside button").focus({ preventScroll: true });
  } else choice.click();
  return true;
}

// Esc closes what is open on a card. False where nothing is.
export function closeChoice(card) {
  const open = card?.querySelector(".choice[open]");
  if (!open) return false;
  open.open = false;
  open.querySelector("summary").focus({ preventScroll: true });
  return true;
}

// Ctrl + Enter sends the choice that is being filled in.
export function sendChoice(field) {
  const inside = field.closest(".choice-inside, .card-answer");
  const button = inside?.querySelector("button[name=verdict]") ?? inside?.parentElement.querySelector("button[name=verdict]");
  if (!button || button.disabled) return false;
  button.click(); // not form.requestSubmit(button): htmx would send the form without the button, which is the verdict
  return true;
}

// On every page with cards: Esc and Ctrl + Enter in a field of theirs.
document.addEventListener("keydown", (event) => {
  const card = event.target.closest?.(".card");
  if (!card || event.isComposing) return;
  if (event.key === "Escape" && closeChoice(card)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && isTyping(event.target) && sendChoice(event.target)) event.preventDefault();
}, { capture: true });

// A card that comes back says beside the field what it lacks. Browsers open one choice of a name at a time, so the card that
// goes closes its own before.
document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
  for (const open of detail.shouldSwap ? target.querySelectorAll(":scope.card .choice[open]") : []) open.open = false;
});

// A saved reason goes into the field, where it can still be changed.
document.addEventListener("change", (event) => {
  const chosen = event.target.closest("select[data-saved-reason]");
  const field = chosen?.closest(".choice-inside").querySelector("textarea");
  if (!field || !chosen.value) return;
  field.value = chosen.value;
  chosen.value = "";
  field.focus();
});
