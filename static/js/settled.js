// A card that somebody fills in stays as they have it. That it was settled meanwhile stands on it, before they have written
// all of it; the pages with cards fetch this with the first one, whenever something has become of the card.

import { gettext } from "./words.js";

export async function tell(card) {
  const answer = await fetch(`${card.dataset.piece}?place=alone`, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok || card.querySelector("button:disabled")) return; // being sent: the answer to that says what came of it
  const now = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".card");
  card.querySelector(".card-settled")?.remove();
  if (!now || ["pending", "snoozed"].includes(now.dataset.status)) return; // a vote, or a decision was taken back
  const line = document.createElement("p");
  line.className = "notice is-waits card-settled";
  line.setAttribute("role", "status");
  card.prepend(line);
  line.textContent = gettext("Settled meanwhile: what you send now comes too late. What you wrote is still here."); // heard, for the line was there
}
