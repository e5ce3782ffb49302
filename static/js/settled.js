// A card that somebody fills in stays as they have it. That it was settled meanwhile stands on it, before they have written
// all of it; the pages with cards fetch this with the first one.

import { gettext } from "./words.js";

export function tell(card, status) {
  card.querySelector(".card-settled")?.remove();
  if (status === "pending" || status === "changed") return; // a vote, or a decision was taken back
  const line = document.createElement("p");
  line.className = "notice is-waits card-settled";
  line.setAttribute("role", "status");
  card.prepend(line);
  line.textContent = gettext("Settled meanwhile: what you send now comes too late. What you wrote is still here."); // heard, for the line was there
}
