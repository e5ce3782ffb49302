// Parts of the page that are fetched anew when they have changed: the head, the tail, a row, the line over the composer.

// One request at a time for each. A change that comes meanwhile leads to one more when the new part is there: htmx would
// keep one request for an element that is gone by then, and drop it.
const requested = new Map(); // key of a part being fetched -> whether it changed again
export async function refresh(key, fetchPart) {
  if (requested.has(key)) return requested.set(key, true);
  requested.set(key, false);
  try {
    await fetchPart();
  } catch {
    return requested.delete(key); // desk.js shows the error, and live.js asks again when the stream is back
  }
  const again = requested.get(key);
  requested.delete(key);
  if (again) await refresh(key, fetchPart);
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
