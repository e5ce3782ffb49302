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
  if (card && isBeingFilledIn(card)) import("./settled.js").then(({ tell }) => tell(card));
  else if (card && card.dataset.status !== status) {
    htmx.ajax("GET", `${card.dataset.piece}?place=inbox`, { source: card, target: card, swap: "outerHTML" })
      .catch(() => null); // "again" comes when the way to the server is back
  }
  if (status === "pending" && !card) news.add(id);
  else news.delete(id);
  const pill = document.getElementById("home-new");
  pill.hidden = !news.size;
  pill.querySelector("a").textContent = gettext("%(count)s new", { count: news.size });
}

// The stream was away: cards that Home would not show by now tell what became of them, others are counted as they come.
let isFirst = true; // the page has only just come, unless it was lost before its stream first began
async function again() {
  const hasJustCome = isFirst && !document.getElementById("connection").textContent;
  isFirst = false;
  if (hasJustCome) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const waiting = [...page.querySelectorAll("#home-live .card.is-open")].map((card) => card.dataset);
  for (const card of document.querySelectorAll(".card.is-open")) {
    const now = waiting.find(({ approval }) => approval === card.dataset.approval);
    if (now?.version !== card.dataset.version) changed({ id: card.dataset.approval, status: now ? "changed" : "gone" });
  }
  for (const { approval, status } of waiting) changed({ id: approval, status });
}

if (live) listen(live.dataset.stream, { approval: changed, waiting: ({ count }) => showCount(count), again });
