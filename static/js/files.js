// Keys of the page of files: j and k from file to file, [ and ] from version to version, u back to the session.

import { isTyping, keyOf } from "./keyboard.js";

const rows = () => [...document.querySelectorAll("a[data-file]")].filter((one) => one.checkVisibility());

function mark(chosen) {
  for (const row of document.querySelectorAll("a[data-file][aria-current]")) row.removeAttribute("aria-current");
  chosen.setAttribute("aria-current", "true");
  chosen.closest(".files-panes").classList.add("with-file");
}

function step(by) {
  const all = rows();
  const at = all.findIndex((row) => row === document.activeElement || row.hasAttribute("aria-current"));
  const to = all[at < 0 ? 0 : at + by];
  to?.focus();
  to?.click();
}

const press = (selector) => document.querySelector(selector)?.click();
const keys = {
  j: () => step(1), k: () => step(-1), "[": () => press(".file-slider [data-previous]"),
  "]": () => press(".file-slider [data-next]"), u: () => press("[data-back]"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !keys[keyOf(event)]) return;
  event.preventDefault();
  keys[keyOf(event)]();
});

document.addEventListener("click", (event) => {
  const row = event.target.closest("a[data-file]");
  if (row && !event.ctrlKey && !event.metaKey && !event.shiftKey) mark(row);
});

// On a phone the file stands below the tree.
document.addEventListener("htmx:afterSwap", () => {
  const file = document.getElementById("file");
  if (innerWidth < 960 && file && file.getBoundingClientRect().top > innerHeight * 0.4) file.scrollIntoView();
});
