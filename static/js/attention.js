// How long a card was in front: told when it leaves, when the page is hidden, and every half a minute.

const LEAST = 1; // seconds; who only passes by looks at nothing
const EVERY = 30_000; // ms
let shown = null; // { address, seconds, since }

const isInFront = () => !document.hidden && document.hasFocus();

function stopClock() {
  if (!shown?.since) return;
  shown.seconds += (Date.now() - shown.since) / 1000;
  shown.since = null;
}

function startClock() {
  if (shown && !shown.since && isInFront()) shown.since = Date.now();
}

function report() {
  if (!shown) return;
  stopClock();
  if (shown.seconds >= LEAST) {
    const body = new FormData();
    body.set("seconds", shown.seconds.toFixed(1));
    body.set("csrfmiddlewaretoken", shown.token);
    navigator.sendBeacon(shown.address, body);
    shown.seconds = 0;
  }
  startClock();
}

// From now on the time is that of this card; null: of none.
export function lookAt(card) {
  const address = card?.matches(".is-open") ? card.dataset.seen : null;
  if (shown?.address === address) return;
  report();
  shown = address ? { address, seconds: 0, since: null, token: JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"] } : null;
  startClock();
}

// Of a card that is not all in sight, this much of it or of the window.
const ENOUGH = 0.5;

function isInSight(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  const shownHeight = Math.min(bottom, innerHeight) - Math.max(top, 0);
  return height > 0 && shownHeight >= ENOUGH * Math.min(height, innerHeight);
}

// Of several: the one that has the focus or the pointer, else the only one in sight. Nobody can tell which of two is read.
function cardInFront() {
  const inSight = [...document.querySelectorAll(".card.is-open")].filter(isInSight);
  const focused = document.activeElement?.closest(".card.is-open, .asked");
  return inSight.find((card) => focused?.contains(card)) ?? inSight.find((card) => card.matches(":hover"))
    ?? (inSight.length === 1 ? inSight[0] : null);
}

// For pages on which cards stand among other things.
export function watchCards() {
  setInterval(() => { if (isInFront()) lookAt(cardInFront()); }, 500);
}

document.addEventListener("visibilitychange", () => (document.hidden ? report() : startClock()));
window.addEventListener("blur", stopClock);
window.addEventListener("focus", startClock);
window.addEventListener("pagehide", report);
setInterval(report, EVERY);
