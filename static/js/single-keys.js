// Who speaks to the browser, or whose hand lies on the keys, turns keys of one character off (WCAG 2.1.4), in this browser:
// then no script of a page hears them. Space is none: it scrolls, and presses what has the focus. desk.js fetches this where
// they are off, and when somebody turns them off or on.

import { isTyping } from "./keyboard.js";

let areOff = false;

export function turn(on) {
  areOff = !on;
  try { localStorage.setItem("single-keys", on ? "on" : "off"); } catch { /* storage may be forbidden: it holds for this page */ }
  for (const one of document.querySelectorAll("[data-single-keys]")) one.checked = on;
}

addEventListener("keydown", (event) => {
  const isSingle = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (areOff && isSingle && !isTyping(event.target)) event.stopImmediatePropagation();
}, { capture: true });
