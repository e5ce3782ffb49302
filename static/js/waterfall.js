// Keys of the waterfall: j and k from span to span, u back to the session.

import { isTyping, keyOf } from "./keyboard.js";

function step(by) {
  const all = [...document.querySelectorAll(".falls a[data-row]")];
  const at = all.indexOf(document.activeElement);
  all[at < 0 ? 0 : at + by]?.focus();
}

const keys = { j: () => step(1), k: () => step(-1), u: () => document.querySelector("[data-back]")?.click() };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !keys[keyOf(event)]) return;
  event.preventDefault();
  keys[keyOf(event)]();
});
