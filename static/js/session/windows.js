// Rows far away from what is read leave the page and come back at the same place: of a long session it holds a few screens.

import { isBeingFilledIn } from "../keyboard.js";
import { askFrame, eachFrame, holdInPlace, keepInPlace } from "./frame.js";
import { gettext } from "../words.js";

const LEAVE = 0.75; // screens above or below the one that is read: rows of one line are thirty a screen, of twenty elements each
const RETURN = 0.5;
const ROWS = 24; // of a part that is fetched again: long ones still fit into one answer of the server
const CHUNK = 24; // rows that the server sends at once (queries/log/timeline.py)
const PRINTED = 40; // parts that come back for a printer; the page waits for each
const RETRY = 2_000; // ms

const timeline = () => document.getElementById("timeline");
const away = () => [...document.querySelectorAll("#timeline .away")];
const isFar = ({ top, bottom }, screens) => bottom < -screens * innerHeight || top > (1 + screens) * innerHeight;

// A part is a stretch of the timeline that is away: its first and last seq, how many rows and pixels. It is fetched again,
// but where somebody opened something in it: there its nodes are kept. A turn of which only the head was left goes in the
// parts that its rows went in: kept, such heads were fifty nodes each for as long as the page was open.
const partsOf = new WeakMap(); // in order, by the element that stands in their place
const coming = new Map(); // such an element -> whether its part came

function spacerOf(parts) {
  const spacer = document.createElement("div");
  spacer.className = "away";
  fill(spacer, parts);
  return spacer;
}

const sum = (parts, what) => parts.reduce((all, part) => all + part[what], 0);

function fill(spacer, parts) {
  partsOf.set(spacer, parts);
  spacer.style.height = `${sum(parts, "height")}px`;
}

// Rows of the main flow: what a sub-agent did lies in the row that began it.
const rowsIn = (piece) => [...piece.querySelectorAll("[data-seq]")].filter((row) => !row.parentElement.closest(".nested"));
const chunksOf = (turn) => [...turn.querySelectorAll(":scope > .rows, :scope > .away")];
const partsIn = (piece) => [...piece.querySelectorAll(".away")].flatMap((spacer) => partsOf.get(spacer));
const seqsIn = (piece) => [...rowsIn(piece).flatMap(({ dataset }) => [Number(dataset.seq), Number(dataset.last ?? dataset.seq)]), ...partsIn(piece).flatMap(({ first, last }) => [first, last])];

function partsOfPiece(piece, height) {
  const seqs = seqsIn(piece);
  const inner = partsIn(piece);
  const whole = piece.matches(".turn:not(.continued)");
  const first = Math.min(...seqs);
  const isOpened = piece.querySelector("[data-opened]") || inner.some(({ nodes }) => nodes);
  if (inner[0] && !isOpened && !piece.querySelector(".rows")) {
    inner[0] = { ...inner[0], first, height: inner[0].height + height - sum(inner, "height"), whole };
    return inner;
  }
  return [{ first, last: Math.max(...seqs), rows: rowsIn(piece).length + sum(inner, "rows"), height, whole, nodes: isOpened || inner[0] ? [piece] : null }];
}

// Small parts side by side come back in one request.
function packed(parts) {
  const found = [];
  for (const part of parts) {
    const before = found.at(-1);
    if (before && !before.nodes && !part.nodes && before.rows + part.rows <= ROWS) {
      found[found.length - 1] = { ...before, last: part.last, rows: before.rows + part.rows, height: before.height + part.height };
    } else found.push(part);
  }
  return found;
}

// What somebody is at never leaves, nor does what is being fetched.
function isHeld(piece) {
  const selection = getSelection();
  return piece.contains(document.activeElement) || piece.querySelector(".is-armed, .is-inspected, .htmx-request, [aria-busy]") || piece.ariaBusy
    || isBeingFilledIn(piece) || (!selection.isCollapsed && selection.containsNode(piece, true));
}

// Who reads on keeps what is below: at most the window that came last, which would be fetched again with the next step.
let goesUp = false;
let last = scrollY;
const leavesNow = (piece, rect) => isFar(rect, LEAVE) && (goesUp || rect.top < 0) && seqsIn(piece).length && !isHeld(piece);

// Neighbours that leave together: the elements with their tops, and where what follows them begins.
function runs(elements, leaves) {
  const found = [];
  let run = null;
  for (const [at, element] of elements.entries()) {
    const rect = element.getBoundingClientRect();
    if (!leaves(element, rect, at)) { run = null; continue; }
    if (!run) found.push(run = { elements: [], edges: [] });
    run.elements.push(element);
    run.edges.push(rect.top);
    run.end = element.nextElementSibling?.getBoundingClientRect().top ?? rect.bottom;
  }
  return found;
}

const REWOUND = ".rewound"; // a line above the turn that it belongs to, with which it goes
const isLast = (turn) => !turn.nextElementSibling?.matches(`.turn, .away, ${REWOUND}`); // the next window joins it
const isWhole = (turn) => chunksOf(turn).length < 2 || !turn.querySelector(":scope > .rows"); // its chunks leave before it

function farTurns() {
  const pieces = [...timeline().children].filter((one) => one.matches(`.turn, .away, ${REWOUND}`));
  const turnLeaves = (turn, rect) => turn?.matches(".turn") && !isLast(turn) && isWhole(turn) && leavesNow(turn, rect);
  return runs(pieces, (piece, rect, at) => (piece.matches(REWOUND)
    ? isFar(rect, LEAVE) && turnLeaves(pieces[at + 1], pieces[at + 1]?.getBoundingClientRect())
    : turnLeaves(piece, rect)));
}

function leave({ elements, edges, end }) {
  const parts = [];
  let line = null;
  for (const [at, element] of elements.entries()) {
    const height = (edges[at + 1] ?? end) - edges[at];
    if (element.matches(REWOUND)) { line = { element, height }; continue; }
    const left = partsOfPiece(element, height + (line?.height ?? 0));
    if (left[0].nodes && line) left[0].nodes.unshift(line.element);
    parts.push(...left);
    line = null;
  }
  elements[0].before(spacerOf(packed(parts)));
  elements.forEach(trimBehind);
  for (const one of elements) one.remove();
}

// Line breaks of the templates, which would stay on the page for all that was ever read: no other text lies between these.
function trimBehind(element) {
  while (element?.nextSibling?.data) element.nextSibling.remove();
}

// Neighbours become one: however much was read, a few elements stand for it.
function tidy() {
  trimBehind(timeline().querySelector(".more.after")); // each window comes in before it, with a break at its end
  for (const spacer of away()) {
    const before = spacer.previousElementSibling;
    if (!before?.matches(".away") || coming.has(before) || coming.has(spacer)) continue;
    fill(spacer, packed([...partsOf.get(before), ...partsOf.get(spacer)]));
    before.remove();
  }
}

function nearParts(spacer) {
  let { top } = spacer.getBoundingClientRect();
  return partsOf.get(spacer).filter((part) => {
    const here = { top, bottom: top + part.height };
    top = here.bottom;
    return !isFar(here, RETURN);
  });
}

eachFrame(() => {
  if (isPrinting) return null;
  leaving ??= setTimeout(leaveFar);
  const near = away().filter((spacer) => !coming.has(spacer)).map((spacer) => [spacer, nearParts(spacer)]).filter(([, parts]) => parts[0]);
  return () => near.flatMap(([spacer, parts]) => split(spacer, new Set(parts))).forEach((one) => fetchPart(one));
});

// In a task of its own, when the frame is painted: what leaves was out of sight.
let leaving = null;
function leaveFar() {
  leaving = null;
  if (isPrinting) return;
  if (Math.abs(scrollY - last) > 8) { goesUp = scrollY < last; last = scrollY; } // px: what a page moves by itself is less
  const turns = farTurns();
  const chunks = [...document.querySelectorAll("#timeline > .turn")].filter((turn) => !turns.some(({ elements }) => elements.includes(turn))).flatMap((turn) => runs([...turn.querySelectorAll(":scope > .rows")], leavesNow));
  if (!turns[0] && !chunks[0]) return;
  holdInPlace();
  for (const run of [...chunks, ...turns]) leave(run);
  tidy();
  keepInPlace();
  askFrame(); // a turn whose last rows have left may go as well
}

// Each chosen part gets a place of its own; returns those places.
function split(spacer, chosen) {
  const groups = [];
  for (const part of partsOf.get(spacer)) {
    const before = groups.at(-1);
    if (before && !chosen.has(part) && !chosen.has(before[0])) before.push(part);
    else groups.push([part]);
  }
  const spacers = groups.map(spacerOf);
  spacer.replaceWith(...spacers);
  return spacers.filter((one) => chosen.has(partsOf.get(one)[0]));
}

const addressOf = ({ first, last, whole }) => `${timeline().dataset.base}/rows?after=${first - 1}&to=${last}${whole ? "&whole=1" : ""}${timeline().dataset.kept}`;
const HTMX = { "HX-Request": "true" };

async function fetchPart(spacer) {
  const [part] = partsOf.get(spacer);
  if (part.nodes) return putBack(spacer, part.nodes);
  const fetched = requestPart(spacer, part);
  coming.set(spacer, fetched);
  spacer.ariaBusy = "true";
  return fetched;
}

async function requestPart(spacer, part) {
  try {
    const answer = await fetch(addressOf(part), { headers: HTMX });
    if (!answer.ok || answer.redirected) throw new Error(gettext("The server answered %(status)s.", { status: answer.status }));
    const html = await answer.text();
    return spacer.isConnected && putBack(spacer, nodesOf(html, spacer));
  } catch (error) {
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("Rows could not be fetched; the page tries again. %(reason)s", { reason: error.message }) }));
    await new Promise((resolve) => setTimeout(resolve, RETRY));
    return false;
  } finally {
    coming.delete(spacer);
    spacer.ariaBusy = null;
    askFrame();
  }
}

// In the place of turns: turns; in the place of rows of one turn: its rows.
function nodesOf(html, spacer) {
  const fetched = document.createElement("template");
  fetched.innerHTML = html;
  const turns = [...fetched.content.children].filter((one) => one.matches(`.turn, ${REWOUND}`));
  return spacer.parentElement.matches(".turn") ? turns.flatMap((turn) => [...turn.querySelectorAll(":scope > .rows")]) : turns;
}

// What did not fit into one answer keeps its place.
function putBack(spacer, nodes) {
  const [part] = partsOf.get(spacer);
  const came = Math.max(0, ...nodes.flatMap(seqsIn));
  const rest = came && came < part.last ? spacerOf([{ ...part, first: came + 1, whole: false, nodes: null }]) : null;
  holdInPlace();
  spacer.replaceWith(...nodes, ...(rest ? [rest] : []));
  coming.delete(spacer);
  nodes.forEach(enliven);
  if (rest) {
    const height = nodes.at(-1).getBoundingClientRect().bottom - nodes[0].getBoundingClientRect().top;
    fill(rest, partsOf.get(rest).map((one) => ({ ...one, height: Math.max(0, part.height - height) })));
  }
  join();
  keepInPlace();
  document.dispatchEvent(new CustomEvent("returned", { detail: nodes }));
  askFrame();
  return nodes.length > 0;
}

// Windows of one turn become one section again; the later one brings the newer totals of the turn. Their rows stay in chunks
// of a window, which leave and come back one by one; what came in event by event is put together. The line of what is out of
// sight has no head: rows behind it keep the one of their turn.
export function join() {
  for (const section of document.querySelectorAll(".turn.continued")) {
    const before = section.previousElementSibling;
    if (!before?.matches(".turn:not(.pruned)") || before.dataset.turn !== section.dataset.turn) continue;
    for (const chunk of chunksOf(section)) append(before, chunk);
    before.querySelector(":scope > .turn-head .turn-facts")?.replaceWith(section.querySelector(".turn-facts"));
    trimBehind(section);
    section.remove();
  }
}

function append(turn, chunk) {
  const last = turn.lastElementChild;
  if (last.matches(".rows:empty")) last.remove(); // a window ended with the head; no rows in it, it would never leave
  const fits = chunk.firstChild && last.matches(".rows:not(:empty)") && rowsIn(last).length + rowsIn(chunk).length <= CHUNK;
  const moved = fits ? [...chunk.children] : [chunk];
  (fits ? last : turn).append(...moved);
  moved.forEach(enliven); // htmx would look for them in the section that is gone
}

// htmx is shown what acts by itself. All that comes in it would look through for names of attributes, of each of which the
// browser then makes a node that stays: a third of all nodes. What acts when somebody does something is shown to it then.
const ACTS = "form, [hx-post], [hx-trigger]:not([hx-trigger^=toggle])";
export function enliven(node) {
  for (const one of [node, ...node.querySelectorAll(ACTS)]) if (one.matches(ACTS)) htmx.process(one);
}
for (const name of ["toggle", "click"]) document.addEventListener(name, ({ target }) => {
  const acting = target.closest?.("#timeline [hx-get]");
  if (acting) htmx.process(acting);
}, true);

// The places of what is away between two rows, the nearest to the first one first; without a second one, up to the end.
export function awayBetween(row, other, by) {
  const isBehind = (one, another) => Boolean(one.compareDocumentPosition(another) & Node.DOCUMENT_POSITION_FOLLOWING);
  const [above, below] = by > 0 ? [row, other] : [other, row];
  const found = away().filter((spacer) => (!above || isBehind(above, spacer)) && (!below || isBehind(spacer, below)));
  return by > 0 ? found : found.reverse();
}

const partsAway = () => away().flatMap((spacer) => partsOf.get(spacer));
export const isAwayBetween = (after, before) => partsAway().some((part) => part.last > after && part.first < before);

// The part at the upper (by > 0) or lower end of a place; false when it did not come.
export function bringBack(spacer, by) {
  if (coming.has(spacer)) return coming.get(spacer);
  return fetchPart(split(spacer, new Set([partsOf.get(spacer).at(by > 0 ? 0 : -1)]))[0]);
}

export const openedAway = () => partsAway().flatMap((part) => part.nodes ?? []).flatMap((node) => [...node.querySelectorAll("details[open]")]);

document.addEventListener("click", (event) => {
  const opener = event.target.closest("#timeline summary, #timeline .inside a, #timeline .more-text a");
  const row = opener?.closest("[data-seq], .group");
  if (row) row.dataset.opened = "";
});

// A printer takes what is on the page now: what was read comes back before. print.css says where something is left out.
let isPrinting = false;
window.addEventListener("afterprint", () => { isPrinting = false; askFrame(); });
window.addEventListener("beforeprint", () => {
  isPrinting = true;
  for (let left = PRINTED, [spacer] = away(); spacer && left > 0; left -= 1, [spacer] = away()) {
    const [place] = split(spacer, new Set([partsOf.get(spacer)[0]]));
    const [part] = partsOf.get(place);
    const nodes = part.nodes ?? nodesAtOnce(place, part);
    if (!nodes.length) return;
    putBack(place, nodes);
  }
});

function nodesAtOnce(spacer, part) {
  const request = new XMLHttpRequest();
  request.open("GET", addressOf(part), false);
  for (const [name, value] of Object.entries(HTMX)) request.setRequestHeader(name, value);
  request.send();
  return request.status === 200 ? nodesOf(request.responseText, spacer) : [];
}
