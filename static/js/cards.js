// Cards in a list: j and k reach them like rows, a e r d decide on the one that is focused, then the next one is.
"use strict";

const CHOICES = { a: "approve", e: "edit", r: "answer", d: "deny" };
let following = null;

function prepare() {
  for (const card of document.querySelectorAll(".card.is-open")) {
    card.dataset.row = "";
    card.tabIndex = -1;
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const choice = event.target.closest(".card.is-open")?.querySelector(`[data-choice=${CHOICES[event.key]}]`);
  if (!choice) return;
  event.preventDefault();
  if (!choice.matches("details")) return choice.click();
  choice.open = true;
  choice.querySelector("textarea, .choice-inside button").focus();
});

document.addEventListener("submit", (event) => {
  following = event.target.closest(".card")?.nextElementSibling ?? null;
});

document.addEventListener("decided", () => {
  if (following?.matches(".card.is-open")) following.focus();
});

document.addEventListener("htmx:afterSwap", prepare);
prepare();
