// Replay: the transcript as far as it was at an event. What follows is on the page, out of sight, a window at a time, and
// appears at the pace at which it happened, or faster.

import { isTyping } from "../keyboard.js";
import { base, go } from "./navigation.js";
import { join } from "./windows.js";
import { counted, gettext } from "../words.js";

const timeline = () => document.getElementById("timeline");
const bar = () => document.getElementById("replay");
const SOON = 20; // ms: what follows within it appears together
const TOGETHER = 20;
const ADDRESS = 1_000; // ms between two changes of the address: browsers refuse many
let point = 0;
let playing = false;
let run = 0; // of what plays on: another speed while steps are fetched begins a new one, and the one before ends
let timer = null;
let follows = true; // whether the page scrolls along
let steps = []; // [seq, ms or null] in order, without gaps
let addressed = 0;
let chosen = []; // speed and pauses, for the bar that comes anew with the rows

const SLIDER = "#replay input[type=range]";
const isOn = () => Boolean(bar());
const selects = () => bar().querySelectorAll("select");
const address = (seq) => `${base()}?replay=${seq}`;

async function fetchSteps(query) {
  const answer = await fetch(`${bar().dataset.steps}?${query}`);
  if (!answer.ok) throw new Error(gettext("The server answered %(status)s.", { status: answer.status }));
  return (await answer.json()).steps;
}

// The step behind one, or the one before it; undefined at the end and at the beginning.
async function stepAfter(seq) {
  if (!steps.length || steps.at(-1)[0] <= seq) steps = [...steps.slice(-1), ...await fetchSteps(`after=${seq}`)];
  return steps.find(([one]) => one > seq);
}
async function stepBefore(seq) {
  if (!steps.length || steps[0][0] >= seq) steps = await fetchSteps(`before=${seq}`);
  return steps.findLast(([one]) => one < seq);
}

// Rows of a line: the line with what lies below it.
function shellsOf(row) {
  const shell = row.parentElement.matches(".line") ? row.parentElement : row;
  const below = shell.nextElementSibling;
  return below?.matches(".below") ? [shell, below] : [shell];
}

function show(within = timeline()) {
  for (const row of within.querySelectorAll("[data-seq]")) {
    const isAhead = Number(row.dataset.seq) > point;
    for (const shell of shellsOf(row)) shell.classList.toggle("is-ahead", isAhead);
    if (row.dataset.result) row.classList.toggle("is-pending", Number(row.dataset.result) > point);
  }
  for (const turn of within.querySelectorAll(".turn")) {
    turn.classList.toggle("is-ahead", [...turn.querySelectorAll("[data-seq]")].every((row) => Number(row.dataset.seq) > point));
  }
}

const rowsOf = () => [...timeline().querySelectorAll("[data-seq]")].filter((row) => !row.parentElement.closest(".nested"));
const lastOnPage = () => Math.max(0, ...rowsOf().map((row) => Number(row.dataset.seq)));

// The next window of rows, out of sight, where the page does not reach as far as an event.
async function reach(seq) {
  const more = timeline().querySelector(":scope > .more.after");
  if (!more || lastOnPage() >= seq) return;
  const answer = await fetch(more.getAttribute("hx-get"), { headers: { "HX-Request": "true" } });
  if (!answer.ok) throw new Error(gettext("The server answered %(status)s.", { status: answer.status }));
  const fetched = document.createElement("template");
  fetched.innerHTML = await answer.text();
  show(fetched.content);
  const nodes = [...fetched.content.children];
  more.replaceWith(...nodes);
  for (const node of nodes) htmx.process(node);
  join();
}

const words = (ms) => (ms < 60_000 ? `${Math.round(ms / 1000)} s` : ms < 3_600_000 ? `${Math.round(ms / 60_000)} m` : `${Math.round(ms / 3_600_000)} h`);

function say(text) {
  bar().querySelector("[data-said]").textContent = text;
}

function draw(at) {
  const time = bar().querySelector("[data-time]");
  bar().querySelector("[data-at]").textContent = counted(point);
  bar().querySelector("input[type=range]").value = point;
  time.textContent = at ? new Date(at).toLocaleTimeString("en-GB") : "";
  bar().querySelector("[data-go=leave]").href = `${base()}?event=${point}#e-${point}`;
  const now = performance.now();
  if (playing && now - addressed < ADDRESS) return;
  addressed = now;
  history.replaceState(history.state, "", address(point));
}

async function moveTo([seq, at]) {
  await reach(seq);
  if (!isOn()) return; // somebody left meanwhile
  point = seq;
  show();
  draw(at);
  if (!follows) return;
  const shown = rowsOf().findLast((row) => row.checkVisibility());
  shown?.scrollIntoView({ block: shown.offsetHeight > innerHeight * 0.6 ? "start" : "nearest", behavior: "instant" });
}

const speed = () => Number(bar().querySelector("[data-speed]").value);
function pauseBetween(before, next) {
  const was = before != null && next != null ? Math.max(0, next - before) / speed() : 0;
  const most = bar().querySelector("[data-pause]").value;
  return { wait: most ? Math.min(was, most * 1000) : was, was };
}

async function playOn() {
  const mine = run += 1;
  const here = steps.find(([seq]) => seq === point)?.[1];
  let next = await stepAfter(point);
  if (!playing || mine !== run) return;
  if (!next) { stop(); say(gettext("the end")); return; }
  const { wait, was } = pauseBetween(here, next[1]);
  say(was - wait > 1_000 ? gettext("a pause of %(time)s is skipped", { time: words(was * speed()) }) : "");
  for (let count = 1; count < TOGETHER; count += 1) {
    const following = steps[steps.indexOf(next) + 1];
    if (!following || pauseBetween(next[1], following[1]).wait > SOON) break;
    next = following;
  }
  timer = setTimeout(() => guarded(async () => {
    await moveTo(next);
    if (playing && mine === run) await playOn();
  }), Math.max(wait, SOON));
}

// Whatever goes wrong stops the replay where it is, and is said.
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    stop();
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The replay stopped: %(reason)s", { reason: error.message }) }));
  }
}

function mark() {
  const button = bar()?.querySelector("[data-go=play]");
  if (!button) return;
  button.setAttribute("aria-pressed", String(playing));
  bar().querySelector("[role=status]").ariaLive = playing ? "off" : "polite"; // not every event is read aloud
  button.querySelector("span").textContent = playing ? gettext("Pause") : gettext("Play");
}

function stop() {
  clearTimeout(timer);
  playing = false;
  mark();
  if (isOn()) { addressed = 0; draw(steps.find(([seq]) => seq === point)?.[1]); }
}

function toggle() {
  if (playing) return stop();
  playing = follows = true;
  mark();
  guarded(playOn);
}

async function stepBy(by) {
  stop();
  say("");
  const to = await (by > 0 ? stepAfter(point) : stepBefore(point));
  if (!to) return;
  follows = true;
  const first = Math.min(...rowsOf().map((row) => Number(row.dataset.seq)));
  if (to[0] < first) await go(address(to[0]));
  else await moveTo(to);
}

// Whoever moves the slider by keys goes on with it: the bar comes anew with the rows.
function jumpTo(seq) {
  stop();
  guarded(async () => { await go(address(seq)); document.querySelector(SLIDER)?.focus({ preventScroll: true }); });
}

function faster(by) {
  const select = bar().querySelector("[data-speed]");
  select.selectedIndex = Math.max(0, Math.min(select.options.length - 1, select.selectedIndex + by));
  chosen = [...selects()].map((one) => one.value);
  if (playing) { clearTimeout(timer); guarded(playOn); }
}

// A timeline that is (again) one of a replay: buttons work, and the page stands at its end.
function begin() {
  if (!isOn() || bar().dataset.begun) { if (!isOn()) { clearTimeout(timer); playing = false; } return; }
  bar().dataset.begun = "1";
  chosen.forEach((value, at) => { selects()[at].value = value; });
  clearTimeout(timer);
  playing = false;
  point = Number(timeline().dataset.replay);
  steps = [];
  for (const one of bar().querySelectorAll("[hidden]")) one.hidden = false;
  guarded(async () => {
    steps = await fetchSteps(`after=${Math.max(0, point - 1)}`);
    show();
    rowsOf().findLast((row) => row.checkVisibility())?.scrollIntoView({ block: "nearest", behavior: "instant" });
  });
}

const actions = { back: () => guarded(() => stepBy(-1)), on: () => guarded(() => stepBy(1)), play: toggle };
document.addEventListener("click", (event) => {
  const action = actions[event.target.closest("#replay [data-go]")?.dataset.go];
  if (!action || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  action();
});
document.addEventListener("change", (event) => {
  if (event.target.matches(SLIDER)) jumpTo(event.target.value);
  if (event.target.matches("#replay select")) faster(0);
});
document.addEventListener("input", (event) => {
  if (event.target.matches(SLIDER)) bar().querySelector("[data-at]").textContent = counted(Number(event.target.value));
});

const keys = { " ": toggle, ArrowRight: actions.on, ArrowLeft: actions.back, "+": () => faster(1), "-": () => faster(-1) };
document.addEventListener("keydown", (event) => {
  if (!isOn() || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const pressed = event.target.closest("a, button, summary");
  const slides = event.key === " " && event.target.matches(SLIDER); // a slider does nothing with a space
  const isOwn = isTyping(event.target) || event.target.matches("input, select, audio"); // of what has the focus
  if ((isOwn && !slides) || (event.key === " " && pressed && pressed.dataset.go !== "play")) return;
  event.preventDefault();
  keys[event.key]();
}, { capture: true });

document.addEventListener("wheel", (event) => { if (event.deltaY < 0) follows = false; }, { passive: true });
document.addEventListener("returned", () => { if (isOn()) show(); });
document.addEventListener("htmx:afterSwap", () => { begin(); if (isOn()) show(); });
document.addEventListener("visibilitychange", () => { if (document.hidden && playing) stop(); });
begin();
