// What pages with keys of their own have in common.

// Keys that somebody types into a field are text, not commands.
export function isTyping(element) {
  return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
}

// The letters of a card's buttons: presses a button, opens what it unfolds, or focuses its field. False without it.
export function chooseOnCard(card, name) {
  const choice = card?.querySelector(`[data-choice=${name}]`);
  if (!choice) return false;
  if (choice.matches("textarea")) choice.focus();
  else if (choice.matches("details")) {
    choice.open = true;
    choice.querySelector("textarea, .choice-inside button").focus();
  } else choice.click();
  return true;
}
