// The page of one card: keys, times that pass, and how long it was in front.

import "./clock.js";
import { lookAt } from "./attention.js";
import { CHOICES, chooseOnCard, closeChoice, isTyping } from "./keyboard.js";

const card = () => document.querySelector(".card");
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "Escape") return closeChoice(card());
  if (CHOICES[event.key] && !event.repeat && chooseOnCard(card(), CHOICES[event.key])) event.preventDefault();
});
document.addEventListener("htmx:afterSwap", () => lookAt(card()));
lookAt(card());
