// Moving about in a session: windows of rows that join, links that stay on the page, the inspector beside it.

import { enter } from "../kept-place.js";
import { askFrame, eachFrame, holdAt, holdInPlace, isRead, keepInPlace, underBars } from "./frame.js";
import { keepPlace } from "./place.js";
import { openFacts, showSide } from "./side.js";
import { join } from "./windows.js";

const byId = (id) => document.getElementById(id);
export const base = () => byId("timeline").dataset.base;
const rowOf = (seq) => byId(`e-${seq}`);

// What comes in above must not move what is being read.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.matches?.(".more.before")) holdInPlace();
});
document.addEventListener("htmx:afterSwap", () => {
  join();
  keepInPlace();
  if (jumped && jumped.at === window.scrollY && jumped.turn.isConnected) jumpTo(jumped.turn);
});

// A turn that was jumped to comes to the top as soon as there is enough below it, unless somebody scrolled meanwhile.
let jumped = null;
function jumpTo(turn) {
  turn.scrollIntoView({ block: "start" });
  jumped = { turn, at: window.scrollY };
}

// Earlier rows come when somebody scrolls towards them, not when the page opens below them, unless it is not full.
let last = window.scrollY;
eachFrame(() => {
  const up = window.scrollY < last || document.documentElement.scrollHeight <= innerHeight;
  last = window.scrollY;
  const more = up && document.querySelector("#timeline > .more.before:not([data-asked])");
  if (!more || more.getBoundingClientRect().bottom <= -800) return null;
  return () => {
    more.dataset.asked = "1";
    htmx.trigger(more, "wanted");
  };
});

// The end of what is on the page, also while rows near it are laid out for the first time.
export function toTheEnd(frames = 6) {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  if (frames) requestAnimationFrame(() => toTheEnd(frames - 1));
}

// Turns around the one that is read, where the outline has come to others.
let outlined = null;
async function outlineAround(turn) {
  if (outlined === turn || byId("outline").matches(".htmx-request")) return;
  outlined = turn;
  const kept = byId("timeline").dataset.kept;
  await htmx.ajax("GET", `${base()}/outline?around=${turn}${kept}`, { source: "#outline", target: "#outline", swap: "innerHTML" });
  askFrame();
}

// The outline shows which turn is being read.
eachFrame(() => {
  const turns = [...document.querySelectorAll("#timeline > .turn")];
  const here = turns.findLast(isRead) ?? turns[0];
  const mark = here && document.querySelector(`#outline li[data-turn="${here.dataset.turn}"]`);
  if (here && !mark) return () => outlineAround(here.dataset.turn);
  if (!mark || mark.classList.contains("here")) return null;
  outlined = null;
  const rail = byId("rail");
  const [top, bottom, height] = [mark.offsetTop, mark.offsetTop + mark.offsetHeight, rail.clientHeight];
  const isShown = top >= rail.scrollTop && bottom <= rail.scrollTop + height;
  return () => {
    for (const old of document.querySelectorAll("#outline .here")) {
      old.classList.remove("here");
      old.firstElementChild.removeAttribute("aria-current");
    }
    mark.classList.add("here");
    mark.firstElementChild.setAttribute("aria-current", "true");
    if (!isShown) rail.scrollTop = top - height / 3;
  };
});

const focusOn = (row) => (row.matches("details") ? row.querySelector("summary") : row).focus({ preventScroll: true });
// Who went to a turn goes on from it: keys that scroll or step act there, and no longer on the outline.
export const focusTurn = (turn) => focusOn(turn.querySelector("[data-seq]") ?? turn);

// Opens everything a row lies in, and shows it.
export function reveal(row) {
  for (let fold = row.parentElement?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (row.matches(".turn-head")) jumpTo(row);
  else row.scrollIntoView({ block: "center" });
  focusOn(row);
}

// A jump to an event that the server finds (?what=error): it is shown and focused, and opens no inspector.
export const jump = (href) => go(href, null, (seq) => `${base()}#e-${seq}`);

// Rows of another place; false where they did not come. Where somebody wants to go last counts.
function load(path) {
  keepPlace();
  htmx.trigger("#panes", "htmx:abort");
  return htmx.ajax("GET", path, { source: "#panes", target: "#timeline", swap: "outerHTML" }).then(() => true, () => false);
}

export async function go(href, seq, addressOf = () => href) {
  if (!await load(href.replace(/#.*/, ""))) return;
  const target = byId("timeline").dataset.target || seq;
  enter(addressOf(target), { seq: target });
  const row = target && rowOf(target);
  if (row) reveal(row);
  else window.scrollTo({ top: window.scrollY + byId("panes").getBoundingClientRect().top - underBars() });
  askFrame();
}

// The turn closes or opens: folding.js says how. Without it the link leads where it says.
export function foldTurn(turn) {
  import("./folding.js").then(({ fold }) => fold(turn, load), () => location.assign(turn.querySelector(".turn-fold").href));
}

async function goToTurn(href) {
  await go(href);
  const turn = byId(new URL(href).hash.slice(1)) ?? document.querySelector("#timeline > .turn");
  if (!turn) return;
  jumpTo(turn);
  focusTurn(turn);
}

let inspecting = null; // the event that was asked for last; its inspector may be on its way
function inspect(seq, href) {
  inspecting = String(seq);
  for (const old of document.querySelectorAll(".is-inspected")) old.classList.remove("is-inspected");
  rowOf(seq)?.classList.add("is-inspected");
  showSide("inspector");
  htmx.ajax("GET", `${base()}/events/${seq}`, { source: "#inspector", target: "#inspector", swap: "innerHTML" });
  if (href) { keepPlace(); enter(href, { seq }); }
}

// While it is open, the inspector shows the event that has the focus.
const FOLLOWS_AFTER = 150; // ms: who runs through rows by key asks for the last of them only
let following = null;
const inspected = () => byId("inspector").querySelector("[data-event]")?.dataset.event;
document.addEventListener("focusin", (event) => {
  clearTimeout(following);
  const seq = event.target.closest("#timeline [data-seq]")?.dataset.seq;
  if (!seq || !inspected() || !byId("inspector").checkVisibility()) return;
  following = setTimeout(() => {
    if (!inspected() || seq === (inspecting ?? inspected())) return;
    inspect(seq);
    const address = new URL(location);
    address.searchParams.set("event", seq);
    address.hash = "";
    history.replaceState({ ...history.state, seq }, "", address.pathname + address.search);
  }, FOLLOWS_AFTER);
});

function emptyInspector() {
  byId("inspector").replaceChildren();
  showSide("overview");
}

export function closeInspector() {
  const seq = inspected();
  inspecting = null;
  emptyInspector();
  const row = document.querySelector(".is-inspected") ?? (seq && rowOf(seq));
  row?.classList.remove("is-inspected");
  if (row) focusOn(row);
  const address = new URL(location);
  address.searchParams.delete("event");
  address.searchParams.delete("tab");
  keepPlace();
  enter(address.pathname + address.search);
}
window.addEventListener("popstate", () => {
  const seq = new URL(location).searchParams.get("event");
  if (seq && rowOf(seq)) inspect(seq);
  else if (!seq && byId("inspector").firstChild) emptyInspector();
});

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const link = event.target.closest("a");
  if (!link) return;
  const own = link.closest("#outline a[href*='turn='], .turn-no, .turn-fold, a[data-hit], a[data-inspect], [data-close-inspector], [data-close-search], [data-open-facts], .more[hx-get] > a");
  if (!own) return;
  const address = new URL(link.href);
  const turn = address.searchParams.get("turn");
  const seq = address.searchParams.get("event");
  event.preventDefault();
  if (link.matches(".more > a")) return; // htmx hears the click on what is around it
  if (link.matches(".turn-fold")) foldTurn(link.closest(".turn"));
  else if (link.matches("[data-inspect]")) inspect(link.dataset.inspect, link.href);
  else if (link.matches("[data-close-inspector]")) closeInspector();
  else if (link.matches("[data-close-search]")) closeSearch();
  else if (link.matches("[data-open-facts]")) openFacts();
  else if (link.matches("[data-hit]")) {
    for (const old of document.querySelectorAll("a[data-hit][aria-current]")) old.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    if (rowOf(seq)) { keepPlace(); reveal(rowOf(seq)); enter(link.href, { seq }); } else go(link.href, seq);
  } else {
    const here = byId(`t-${turn}`);
    if (here) { keepPlace(); jumpTo(here); focusTurn(here); enter(link.href); askFrame(); } else goToTurn(link.href);
  }
  if (byId("rail").matches(":popover-open")) byId("rail").hidePopover();
});

export function closeSearch() {
  byId("found").replaceChildren();
  document.querySelector(".s-search input").value = "";
}
document.querySelector(".s-search input")?.addEventListener("input", (event) => { if (!event.target.value) byId("found").replaceChildren(); });
document.querySelector(".s-search").addEventListener("htmx:afterRequest", () => {
  if (getComputedStyle(byId("rail")).position === "fixed" || !byId("rail").checkVisibility()) byId("rail").showPopover();
  document.querySelector("a[data-hit]")?.focus(); // n and N, which are text in the field, go through the hits from here
});

// The fragment of #e-87 never reached the server; with ?event=87 the page holds that event.
function showRequestedEvent() {
  const { target, near, opens } = byId("timeline").dataset;
  const named = location.hash.match(/^#e-(\d{1,9})$/)?.[1];
  const row = rowOf(target || named);
  if (near) return;
  const waits = !location.hash && rowOf(opens); // in the middle where it fits, else from its head on
  if (waits) holdAt(waits, Math.max(underBars() + 40, (innerHeight - waits.offsetHeight) / 2));
  if (row) {
    reveal(row);
    if (target) row.classList.add("is-inspected");
  } else if (named && !new URL(location).searchParams.get("event")) {
    const address = new URL(location);
    address.searchParams.set("event", named);
    location.replace(address);
  }
  askFrame();
}
showRequestedEvent();
