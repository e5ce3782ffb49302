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

// Whether somebody is at it: a choice is open, a field holds what the server did not send, or it tells them why what they
// sent was not taken, with what they wrote.
export function isBeingFilledIn(card) {
  const fields = [...card.querySelectorAll("textarea, input:not([type=hidden])")];
  return Boolean(card.querySelector(".choice[open], [role=alert]")) || fields.some((field) => field.value !== field.defaultValue);
}
