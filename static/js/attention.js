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

document.addEventListener("visibilitychange", () => (document.hidden ? report() : startClock()));
window.addEventListener("blur", stopClock);
window.addEventListener("focus", startClock);
window.addEventListener("pagehide", report);
setInterval(report, EVERY);
