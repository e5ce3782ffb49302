// Rows coloured by what they cost: a button, and the key $. The choice stays in this browser.

import { isTyping } from "../keyboard.js";

const KEPT = "countersign-heat";
const button = document.querySelector("[data-heat]");
const panes = document.getElementById("panes");

function kept() {
  try { return localStorage.getItem(KEPT) === "on"; } catch { return false; } // storage may be forbidden
}

function show(on) {
  panes.classList.toggle("with-heat", on);
  button.setAttribute("aria-pressed", String(on));
}

function toggle() {
  const on = !panes.classList.contains("with-heat");
  show(on);
  try { localStorage.setItem(KEPT, on ? "on" : "off"); } catch { /* it holds for this page */ }
}

if (button && panes) {
  button.hidden = false;
  show(kept());
  button.addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.key === "$" && !event.ctrlKey && !event.metaKey && !isTyping(event.target)) toggle();
  });
}
