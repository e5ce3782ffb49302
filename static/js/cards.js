// Cards of approvals on Home: j and k reach them like rows, a e r d decide on the one that is focused, and the next one
// is focused after a decision. A card that is settled elsewhere changes in place; new ones are counted.

import "./clock.js";
import { listen } from "./approval-stream.js";
import { watchCards } from "./attention.js";
import { CHOICES, chooseOnCard, closeChoice } from "./card-keys.js";
import { isBeingFilledIn, isTyping, keyOf } from "./keyboard.js";
import { showCount } from "./waiting.js";
import { gettext } from "./words.js";

const live = document.getElementById("home-live");
let cardBehindSubmitted = null;

function makeCardsFocusable() {
  for (const card of document.querySelectorAll(".card.is-open")) {
    card.dataset.row = "";
    card.tabIndex = -1;
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const card = event.target.closest(".card.is-open");
  if (event.key === "Escape") return closeChoice(card);
  const choice = CHOICES[keyOf(event)];
  if (!choice || event.repeat) return; // a key that is held down decides one thing
  if (chooseOnCard(card, choice)) event.preventDefault();
});

document.addEventListener("submit", (event) => {
  cardBehindSubmitted = event.target.closest(".card")?.nextElementSibling ?? null;
});

document.addEventListener("decided", () => {
  if (cardBehindSubmitted?.matches(".card.is-open")) cardBehindSubmitted.focus();
});

document.addEventListener("htmx:afterSwap", makeCardsFocusable);
makeCardsFocusable();
watchCards();

const news = new Set();
function changed({ id, status }) {
  const card = document.getElementById(`approval-${id}`);
  if (card && card.dataset.status !== status && !isBeingFilledIn(card)) {
    htmx.ajax("GET", `${card.dataset.piece}?place=inbox`, { source: card, target: card, swap: "outerHTML" });
  }
  if (status === "pending" && !card) news.add(id);
  else news.delete(id);
  const pill = document.getElementById("home-new");
  pill.hidden = !news.size;
  pill.querySelector("a").textContent = gettext("%(count)s new", { count: news.size });
}

if (live) listen(live.dataset.stream, { approval: changed, waiting: ({ count }) => showCount(count) });
