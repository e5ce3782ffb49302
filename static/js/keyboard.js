// What pages with keys of their own have in common.

// Keys that somebody types into a field are text, not commands.
export function isTyping(element) {
  return element.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) && !/^(checkbox|radio)$/.test(element.type));
}

// A keyboard of another script (Cyrillic, Greek, Hebrew, Arabic …) has our keys where one of Latin letters has them.
export function keyOf({ key, code, shiftKey }) {
  if (key.length > 1 || /[\p{ASCII}\p{Script=Latin}]/u.test(key)) return key;
  const at = { BracketLeft: "[", BracketRight: "]" }[code] ?? /^(?:Key|Digit)(.)$/.exec(code)?.[1] ?? key;
  return shiftKey ? at : at.toLowerCase();
}

// Who speaks to the browser, or whose hand lies on the keys, turns keys of one character off (WCAG 2.1.4), in this browser:
// then no script of a page hears them. Space is none: it scrolls, and presses what has the focus.
const KEPT = "single-keys";
let areOff = false;
try { areOff = localStorage.getItem(KEPT) === "off"; } catch { /* storage may be forbidden: they are on */ }
export const areSingleKeysOn = () => !areOff;
export function turnSingleKeys(on) {
  areOff = !on;
  try { localStorage.setItem(KEPT, on ? "on" : "off"); } catch { /* it holds for this page */ }
}
addEventListener("keydown", (event) => {
  const isSingle = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (areOff && isSingle && !isTyping(event.target)) event.stopImmediatePropagation();
}, { capture: true });

// Whether somebody is at it: a choice is open, a field holds what the server did not send, or it tells them why what they
// sent was not taken, with what they wrote.
export function isBeingFilledIn(card) {
  const fields = [...card.querySelectorAll("textarea, input:not([type=hidden])")];
  return Boolean(card.querySelector(".choice[open], [role=alert]")) || fields.some((field) => field.value !== field.defaultValue);
}
