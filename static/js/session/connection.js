// Whether the page hears of what happens: a lasting line while it does not, and a short one when it does again.

import { gettext } from "../words.js";

const line = document.getElementById("connection");
const GRACE = 2_000; // ms: a stream that is opened again at once is nobody's news
const SAID = 4_000;
let graceTimer = null;
let hideTimer = null;

export const isLost = () => document.body.classList.contains("is-lost");

export function say(words, seconds = SAID) {
  clearTimeout(hideTimer);
  line.textContent = words;
  line.hidden = false;
  if (seconds) hideTimer = setTimeout(() => { line.hidden = true; }, seconds);
}

function lose() {
  clearTimeout(graceTimer);
  graceTimer = null;
  if (isLost()) return;
  document.body.classList.add("is-lost");
  const time = new Date().toLocaleTimeString([], { hour12: false });
  say(gettext("Connection lost at %(time)s, reconnecting… What is shown may have changed since.", { time }), 0);
}

export function lost(now = false) {
  if (now) lose();
  else graceTimer ??= setTimeout(lose, GRACE);
}

export function back() {
  clearTimeout(graceTimer);
  graceTimer = null;
  if (!isLost()) return;
  document.body.classList.remove("is-lost");
  say(gettext("Back: what happened meanwhile is on the page."));
}

// Nobody looks, so nothing is heard: that is no loss.
export function pause() {
  clearTimeout(graceTimer);
  graceTimer = null;
}
