// What has to look at where things lie does so together, once in a frame: all of it reads before any of it writes, so that
// the browser lays the page out once.

const lookers = [];
let asked = false;
let anchor = null; // a row, and where it was before the page changed above it

// `read` is called in each frame in which the page was scrolled or changed; what it returns is called to write.
export const eachFrame = (read) => lookers.push(read);

export function askFrame() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    for (const write of lookers.map((read) => read())) write?.();
  });
}

// Where the bars end that stick to the top of the screen; 0 where they do not stick, or were scrolled away.
const READ = 40; // px below them: a turn that begins there is the one that is read
export function underBars() {
  const bars = document.getElementById("bars");
  const style = getComputedStyle(bars);
  return style.position === "sticky" ? parseFloat(style.top) + bars.offsetHeight : 0;
}
export const isRead = (turn) => turn.getBoundingClientRect().top < Math.max(0, document.getElementById("bars").getBoundingClientRect().bottom) + READ;

const isInSight = (element) => element.getBoundingClientRect().bottom > 0;

// Heads of turns are no measure: they stick. Rows are asked only where their chunk is in sight.
function firstRow() {
  for (const chunk of document.querySelectorAll("#timeline > .turn > .rows")) {
    const row = isInSight(chunk) && [...chunk.querySelectorAll("[data-seq]")].find(isInSight);
    if (row) return row;
  }
  return null;
}

// The first and the last row between two heights of the screen. By their rectangles, which are known once the page is laid
// out: asking what lies at a point makes the browser prepare to paint. A head counts that does not stick over its rows.
const ROW = "[data-seq]:not(details:not([open]) *)";
export function rowsBetween(top, bottom) {
  const between = (within, selector) => [...within.querySelectorAll(selector)].map((element) => [element, element.getBoundingClientRect()])
    .filter(([, rect]) => rect.height && rect.bottom > top && rect.top < bottom);
  const isAbove = ([head, rect]) => !(head.nextElementSibling?.getBoundingClientRect().top < (rect.top + rect.bottom) / 2);
  const rows = between(document, "#timeline .rows").flatMap(([chunk]) => between(chunk, ROW));
  const shown = [...between(document, "#timeline .turn-head[data-seq]").filter(isAbove), ...rows].sort(([, one], [, other]) => one.top - other.top);
  return [shown[0]?.[0], shown.at(-1)?.[0]];
}

// What is read now stays where it is while rows come in or leave above it: not every browser does that by itself.
export function holdInPlace() {
  const row = anchor?.row.isConnected ? null : firstRow();
  if (row) anchor = { row, top: row.getBoundingClientRect().top };
}

export function keepInPlace() {
  const by = anchor?.row.isConnected ? anchor.row.getBoundingClientRect().top - anchor.top : 0;
  anchor = null;
  if (Math.abs(by) >= 0.5) window.scrollBy({ top: by, behavior: "instant" });
}

// Brings a row to a place on the screen, also while what is above it is still being laid out.
export function holdAt(row, top, frames = 4) {
  window.scrollBy({ top: row.getBoundingClientRect().top - top, behavior: "instant" });
  if (frames) requestAnimationFrame(() => holdAt(row, top, frames - 1));
}

document.addEventListener("scroll", askFrame, { passive: true });
window.addEventListener("resize", askFrame);
document.addEventListener("htmx:afterSwap", askFrame);
