// The page of one card: keys, times that pass, how long it was in front, and what others do with it meanwhile.

import "./clock.js";
import { listen } from "./approval-stream.js";
import { lookAt } from "./attention.js";
import { CHOICES, chooseOnCard, closeChoice } from "./card-keys.js";
import { isBeingFilledIn, isTyping, keyOf } from "./keyboard.js";
import { showCount } from "./waiting.js";

const card = () => document.querySelector(".card");
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "Escape") return closeChoice(card());
  const choice = CHOICES[keyOf(event)];
  if (choice && !event.repeat && chooseOnCard(card(), choice)) event.preventDefault();
});

// A card that somebody fills in stays, and says that it is settled.
async function refresh() {
  const answer = await fetch(`${card().dataset.piece}?place=alone`, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok) return; // the stream says "again" when the way to the server is back
  const now = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".card");
  const shown = card();
  if (!now || now.dataset.version === shown.dataset.version) return;
  if (isBeingFilledIn(shown)) return import("./settled.js").then(({ tell }) => tell(shown));
  const hadFocus = shown.contains(document.activeElement);
  shown.replaceWith(document.adoptNode(now));
  htmx.process(now);
  now.tabIndex = -1;
  if (hadFocus) now.focus({ preventScroll: true });
  lookAt(now);
}
listen(document.querySelector("[data-stream]").dataset.stream, {
  approval({ id, version }) { if (id === card().dataset.approval && String(version) !== card().dataset.version) refresh(); },
  waiting: ({ count }) => showCount(count),
  again: refresh,
});

document.addEventListener("htmx:afterSwap", () => lookAt(card()));
lookAt(card());
