// A stream of what happens, opened again whenever it ends; and whether the page hears of it: a lasting line while it does
// not, and a short one when it does again.

import { gettext } from "./words.js";

const line = document.getElementById("connection");
const GRACE = 2_000; // ms: a stream that is opened again at once is nobody's news
const SAID = 4_000;
const REOPEN = 3_000; // ms: what browsers wait themselves where an answer was no stream at all
let graceTimer = null;
let hideTimer = null;

export const isLost = () => document.body.classList.contains("is-lost");

export function say(words, seconds = SAID) {
  clearTimeout(hideTimer);
  line.textContent = words;
  line.hidden = false;
  if (seconds) hideTimer = setTimeout(() => { line.hidden = true; }, seconds);
}

function calm() {
  clearTimeout(graceTimer);
  graceTimer = null;
}

function lose() {
  calm();
  if (isLost()) return;
  document.body.classList.add("is-lost");
  const time = new Date().toLocaleTimeString([], { hour12: false });
  say(gettext("Connection lost at %(time)s, reconnecting… What is shown may have changed since.", { time }), 0);
}

function lost(now = false) {
  if (now) lose();
  else graceTimer ??= setTimeout(lose, GRACE);
}

function back() {
  calm();
  if (!isLost()) return;
  document.body.classList.remove("is-lost");
  say(gettext("Back: what happened meanwhile is on the page."));
}

// For as long as somebody looks at the page. `address` says where it begins or goes on, `began` has each source at its
// beginning. What is returned ends it until somebody looks at the page again.
export function stay(address, began) {
  let source = null;
  let reopening = null;

  function open() {
    if (source || document.hidden) return;
    source = new EventSource(address());
    source.addEventListener("open", back);
    source.addEventListener("error", reopen);
    began(source);
  }
  // A browser opens six connections to a host: pages that nobody looks at give theirs back. Then nothing is heard, which
  // is no loss.
  function close() {
    clearTimeout(reopening);
    calm();
    source?.close();
    source = null;
  }
  // A browser tries again by itself where it had no answer, and never where it had another one than a stream.
  function reopen() {
    lost(!navigator.onLine);
    if (source?.readyState !== EventSource.CLOSED) return;
    source = null;
    clearTimeout(reopening);
    reopening = setTimeout(open, REOPEN);
  }
  // Nobody knows whether the old one still lives: a network that drops what is sent ends no connection. What the page asks
  // every half minute (the line of stops) is not answered then.
  const anew = () => { if (source) { close(); open(); } };
  addEventListener("offline", () => { if (source) lost(true); });
  addEventListener("online", anew);
  addEventListener("htmx:timeout", () => { anew(); if (source) lost(true); });
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
  return close;
}
