// Pieces of the page that are fetched anew when there are news of them: the head, the tail, a row, the composer's line.

// One request at a time for each. News that come meanwhile lead to one more when the new piece is there: htmx would keep
// one request for an element that is gone by then, and drop it.
const under = new Map(); // key of a piece under way -> whether more news came
async function renew(key, ask) {
  if (under.has(key)) return under.set(key, true);
  under.set(key, false);
  try {
    await ask();
  } catch {
    return under.delete(key); // desk.js said so, and what the network lost is asked for when the stream opens again
  }
  const again = under.get(key);
  under.delete(key);
  if (again) await renew(key, ask);
}

// What somebody has just sent is answered with the newest state of its piece, and the answer needs a place to stand.
const SENDING = "form.htmx-request, button.htmx-request";
const isSending = (element) => Boolean(element.querySelector(SENDING) || element.closest(SENDING));
const whileSending = () => new Promise((resolve) => setTimeout(resolve, 200));

// What `find` finds in place of itself. The element itself asks, so that no piece waits for the request of another.
async function fetchInPlace(find, path, select = null) {
  while (find() && isSending(find())) await whileSending();
  const element = find();
  if (element) await htmx.ajax("GET", path ?? element.dataset.piece, { source: element, target: element, swap: "outerHTML", select });
}
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.elt === detail.target && isSending(detail.target)) detail.shouldSwap = false;
});

const renewById = (id) => renew(id, () => fetchInPlace(() => document.getElementById(id)));

window.pieces = { renew, renewById, fetchInPlace };
