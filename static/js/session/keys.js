// Keys of the session page. Each one has a button or link as well; none needs AltGr. later.js tells what was pressed.

import { CHOICES, chooseOnCard, closeChoice } from "../card-keys.js";
import { isTyping, keyOf } from "../keyboard.js";
import { isRead, underBars } from "./frame.js";
import { goTo, step as walk, walkedTo } from "./marks.js";
import { base, closeInspector, closeSearch, focusTurn, foldTurn, go, toTheEnd } from "./navigation.js";
import { showSide } from "./side.js";
import { toggleStrip } from "./strip.js";
import { awayBetween, bringBack, openedAway } from "./windows.js";
import { gettext } from "../words.js";

const stops = () => [...document.querySelectorAll("#timeline [data-seq], #timeline .group, #timeline .nested")].filter((one) => one.checkVisibility());
const current = () => {
  const here = document.activeElement;
  return here.matches(".line > .when") ? here.parentElement.firstElementChild : here.closest("#timeline [data-seq], #timeline .group, #timeline .nested");
};
const linkHere = () => (current()?.closest(".line") ?? current())?.querySelector("a.when");
const handle = (stop) => (stop.matches("details") ? stop.querySelector("summary") : stop);

function focusOn(stop) {
  handle(stop).focus({ preventScroll: true });
  stop.scrollIntoView({ block: stop.offsetHeight > innerHeight * 0.7 ? "start" : "nearest" });
}

function inSight() {
  return stops().findIndex((stop) => stop.getBoundingClientRect().bottom > underBars() + 40);
}

async function step(by) {
  const all = stops();
  const at = all.indexOf(current());
  const to = at < 0 ? inSight() : at + by;
  const [place] = at < 0 ? [] : awayBetween(all[at], all[to], by);
  if (place) return (await bringBack(place, by)) && step(by);
  if (to >= 0 && to < all.length) return focusOn(all[to]);
  document.querySelector(`#timeline > .more.${by > 0 ? "after" : "before"} > a`)?.click();
}

// Back goes to the head of this turn first, as players of music do.
function turn(by) {
  const turns = [...document.querySelectorAll(".turn")];
  const here = current()?.closest(".turn") ?? turns.findLast(isRead) ?? turns[0];
  const first = (one) => one?.querySelector("[data-seq]");
  const inside = by < 0 && current() && current() !== first(here) && !here.matches(".continued");
  const neighbour = turns[turns.indexOf(here) + by];
  const isAway = awayBetween(here, neighbour, by).some((place) => !place.closest(".turn"));
  const to = inside ? here : isAway ? null : neighbour;
  if (to && !to.matches(".continued")) {
    to.scrollIntoView({ block: "start" });
    focusTurn(to);
    return;
  }
  const mark = document.querySelector(`#outline li[data-turn="${here?.dataset.turn}"]`);
  (by > 0 ? mark?.nextElementSibling : to ? mark : mark?.previousElementSibling)?.querySelector("a")?.click();
}

function foldHere() {
  const turns = [...document.querySelectorAll(".turn")];
  const here = document.activeElement.closest("#timeline .turn") ?? turns.findLast(isRead) ?? turns[0];
  if (here?.querySelector(".turn-fold")) foldTurn(here);
}

const seqHere = () => Number(current()?.dataset.seq ?? current()?.querySelector("[data-seq]")?.dataset.seq ?? stops()[inSight()]?.dataset.seq ?? 0);

const lenses = () => document.querySelector(".lenses");
const choose = (number) => (number ? lenses()?.querySelectorAll("a")[number - 1] : document.querySelector("a[data-steps]"))?.click();

// The failed calls, and all of them again.
function toggleFailed() {
  const box = document.querySelector(".tools-filter [name=is]");
  if (box) { box.checked = !box.checked; box.form.requestSubmit(); return; }
  const address = new URL(lenses().querySelector("[data-lens=tools]").href);
  address.searchParams.delete("near");
  address.searchParams.set("is", "failed");
  location.assign(address);
}

function openBox() {
  const overview = document.getElementById("side-overview");
  showSide("overview");
  if (!overview.checkVisibility()) overview.showPopover();
}

// Opens the form of a comment, filled in with the event.
function commentOn(seq) {
  openBox();
  const form = document.getElementById("comment-form");
  if (!form) return;
  form.elements.first_seq.value = form.elements.last_seq.value = seq || "";
  form.scrollIntoView({ block: "nearest" });
  form.elements.text.focus();
}

function showComments(seq) {
  openBox();
  const threads = [...document.querySelectorAll("#review .thread")];
  threads.find((one) => one.dataset.first === seq)?.scrollIntoView({ block: "nearest" });
}

function replayFrom(seq) {
  const leave = document.querySelector("#replay [data-go=leave]");
  location.assign(leave ? leave.href : `${base()}?replay=${Math.max(1, seq)}`);
}

function openExport() {
  const summary = document.querySelector(".s-actions .export > summary");
  summary?.focus();
  if (summary && !summary.parentElement.open) summary.click();
}

function fold() {
  for (const one of [...document.querySelectorAll("#timeline details[open]"), ...openedAway()]) one.open = false;
}

async function copy() {
  const link = linkHere();
  if (!link) return;
  await navigator.clipboard.writeText(link.href);
  const shown = [...link.childNodes];
  link.textContent = gettext("copied");
  setTimeout(() => link.replaceChildren(...shown), 1200);
}

function hit(by) {
  const all = [...document.querySelectorAll("a[data-hit]")];
  const at = all.findIndex((one) => one.hasAttribute("aria-current"));
  all[at < 0 ? 0 : at + by]?.click();
}

async function end(which) {
  const more = document.querySelector(`#timeline > .more.${which === "end" ? "after" : "before"}`);
  if (more) await go(`${base()}?${which === "end" ? "until=999999999" : "from=0"}${document.getElementById("timeline").dataset.kept}`);
  if (which === "end") toTheEnd();
  else window.scrollTo({ top: 0 });
}

// A key that leads somewhere never decides. A card that was reached is armed by Enter or by a click on it; then, and until
// somebody goes on, the letters of its buttons decide.
let armed = null;
const cardHere = () => document.activeElement.closest(".asked.waits, .card.is-open")?.querySelector(".card.is-open") ?? document.activeElement.closest(".card.is-open");
function arm(card) {
  if (armed === card) return;
  armed?.classList.remove("is-armed");
  card?.classList.add("is-armed");
  armed = card;
}
function decide(key, event) {
  const card = cardHere();
  if (card && card === armed && !event.repeat && chooseOnCard(card, CHOICES[key])) event.preventDefault();
}
document.addEventListener("focusin", (event) => { if (armed && !event.target.closest(".asked")?.contains(armed) && !armed.contains(event.target)) arm(null); });

function escape() {
  if (closeChoice(cardHere())) return;
  if (armed) arm(null);
  else if (document.querySelector("#inspector > *")) closeInspector();
  else if (document.querySelector("#found > *")) closeSearch();
}

const keys = {
  j: () => step(1), k: () => step(-1), "]": () => turn(1), "[": () => turn(-1), J: () => turn(1), K: () => turn(-1),
  w: () => walk("approval", 1, seqHere()), W: () => walk("approval", -1, seqHere()),
  x: () => walk("error", 1, seqHere()), X: () => walk("error", -1, seqHere()),
  o: () => current()?.closest("details")?.querySelector("summary").click(), ".": fold, z: foldHere,
  i: () => linkHere()?.click(), c: copy, n: () => hit(1), N: () => hit(-1),
  g: () => end("start"), G: () => end("end"), f: () => document.querySelector("[data-follow-toggle]")?.click(),
  0: () => choose(0), 1: () => choose(1), 2: () => choose(2), 3: () => choose(3), 4: () => choose(4), "!": toggleFailed,
  F: () => document.querySelector("a[data-files]")?.click(),
  E: openExport, C: () => commentOn(seqHere()), R: () => replayFrom(seqHere()),
  m: toggleStrip, M: () => document.querySelector("a[data-waterfall]")?.click(),
  "$": () => document.querySelector("[data-heat]")?.click(), "?": () => document.getElementById("help").showModal(),
};

export function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") { if (isTyping(event.target)) event.target.blur(); else escape(); return; }
  if (isTyping(event.target)) return;
  if (event.key === "Enter" && cardHere() && event.target.matches(".asked, .card")) return arm(cardHere());
  const key = keyOf(event);
  if (CHOICES[key]) return decide(key, event);
  if (!keys[key]) return;
  event.preventDefault();
  arm(null);
  keys[key]();
}

export function onClick({ target }) {
  arm(target.closest(".card.is-open"));
  if (target.closest("[data-fold]")) fold();
  if (target.closest("[data-help]")) document.getElementById("help").showModal();
  if (target.closest("a[data-replay]")) replayFrom(seqHere());
  const comments = target.closest(".comment-mark");
  if (comments) showComments(comments.dataset.about);
  const mark = target.closest("a[data-mark]");
  if (mark) {
    mark.closest("[popover]:popover-open")?.hidePopover();
    goTo(Number(mark.dataset.mark));
  }
  const onward = target.closest(".walk a[data-step]");
  if (!onward) return;
  const { walk: what } = onward.parentElement.dataset;
  walk(what, Number(onward.dataset.step), walkedTo(what) ?? seqHere()); // the link has the focus now, not the row
}
