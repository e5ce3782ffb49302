// Words that were looked for, marked where they stand in the transcript. Nothing is added to it: the browser paints them.

const MOST = 2_000; // places; a page has at most some 3,000 elements
const PLACES = "#timeline, #inspector";
const painted = globalThis.Highlight ? new Highlight() : null; // not in browsers of before 2025: the hits beside are there
const shown = new WeakSet(); // blocks with a scroller of their own that were brought to their first word

// As they are written: what the list of hits marks is how the transcript has them.
function wanted() {
  const found = new Set([...document.querySelectorAll("#found mark")].map((one) => one.textContent).filter(Boolean));
  const safe = [...found].sort((one, other) => other.length - one.length).map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return safe.length ? new RegExp(safe.join("|"), "g") : null;
}

function bring(range) {
  const block = range.startContainer.parentElement?.closest(".code, .diff-rows, .code-lines, pre");
  if (!block || shown.has(block) || block.scrollHeight <= block.clientHeight) return;
  shown.add(block);
  block.scrollTop += range.getBoundingClientRect().top - block.getBoundingClientRect().top - block.clientHeight / 3;
}

function paint() {
  painted.clear();
  const pattern = wanted();
  if (!pattern) return;
  for (const place of document.querySelectorAll(PLACES)) {
    const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() && painted.size < MOST) {
      for (const { index, 0: word } of texts.currentNode.data.matchAll(pattern)) {
        const range = new Range();
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + word.length);
        painted.add(range);
        bring(range);
      }
    }
  }
}

let due = 0;
function soon() {
  cancelAnimationFrame(due);
  due = requestAnimationFrame(paint);
}

if (painted) {
  CSS.highlights.set("found", painted);
  document.addEventListener("htmx:afterSettle", soon);
  document.addEventListener("toggle", soon, true); // what is folded has no size, so no place to be brought to
  soon();
}
