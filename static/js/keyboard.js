// What pages with keys of their own have in common.

// Keys that somebody types into a field are text, not commands.
export function isTyping(element) {
  return element.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) && !/^(checkbox|radio)$/.test(element.type));
}

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

// Whether somebody is at it: a choice is open, a field holds what the server did not send, or it tells them why what they
// sent was not taken, with what they wrote.
export function isBeingFilledIn(card) {
  const fields = [...card.querySelectorAll("textarea, input:not([type=hidden])")];
  return Boolean(card.querySelector(".choice[open], [role=alert]")) || fields.some((field) => field.value !== field.defaultValue);
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

// A saved reason goes into the field, where it can still be changed.
document.addEventListener("change", (event) => {
  const chosen = event.target.closest("select[data-saved-reason]");
  const field = chosen?.closest(".choice-inside").querySelector("textarea");
  if (!field || !chosen.value) return;
  field.value = chosen.value;
  chosen.value = "";
  field.focus();
});
