// Parts of the page that are fetched anew when they have changed: the head, the tail, a row, the line over the composer.

// One request at a time for each. A change that comes meanwhile leads to one more when the new part is there: htmx would
// keep one request for an element that is gone by then, and drop it.
const requested = new Map(); // key of a part being fetched -> whether it changed again
const FIRST_RETRY = 1_000; // ms; each wait is twice the one before
const LAST_RETRY = 30_000;
export async function refresh(key, fetchPart, wait = FIRST_RETRY) {
  if (requested.has(key)) return requested.set(key, true);
  requested.set(key, false);
  let failed = false;
  try {
    await fetchPart();
  } catch {
    failed = true; // desk.js shows the error
  }
  const again = requested.get(key);
  requested.delete(key);
  // The stream may outlive a network that is away for a second, and then nothing else would ask for this part again.
  if (failed) setTimeout(() => refresh(key, fetchPart, Math.min(2 * wait, LAST_RETRY)), wait);
  else if (again) await refresh(key, fetchPart);
}

// The answer to what somebody has just sent is the newest state of its part, and goes into the element that is there.
const SENDING = "form.htmx-request, button.htmx-request";
const isSending = (element) => Boolean(element.querySelector(SENDING) || element.closest(SENDING));
const whileSending = () => new Promise((resolve) => setTimeout(resolve, 200));

// Replaces what `find` finds. The element itself is the source, so that no part waits for the request of another.
export async function fetchInPlace(find, path, select = null) {
  while (find() && isSending(find())) await whileSending();
  const element = find();
  if (element) await htmx.ajax("GET", path ?? element.dataset.piece, { source: element, target: element, swap: "outerHTML", select });
}
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.elt === detail.target && isSending(detail.target)) detail.shouldSwap = false;
});

export const refreshById = (id) => refresh(id, () => fetchInPlace(() => document.getElementById(id)));
