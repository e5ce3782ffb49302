// The band of the whole run: a bracket shows where one reads and can be dragged, a click or a key leads elsewhere.

import { askFrame, eachFrame } from "./frame.js";
import { base, jump } from "./navigation.js";
import { fetchInPlace, refresh } from "./pieces.js";
import { counted, gettext } from "../words.js";

const REFRESHED_AFTER = 4_000; // ms: a run at work is drawn again so often at the most
const JUMPS_AFTER = 250; // ms without another key
const DRAGS_FROM = 4; // px
const NEAR = 0.004; // of the band: who points so near to an error means it
const GROWN = "strip-grown";
const byId = (id) => document.getElementById(id);
const strip = () => byId("strip");
const band = () => strip()?.querySelector(".band");
const view = () => strip()?.querySelector(".band-view");

// What lies where, as the API tells it; asked for when somebody first points at the band, or reads by time.
let told = null;
let asking = null;
async function places() {
  const { api, lastSeq: seq } = strip().dataset;
  if (told?.seq === seq) return told;
  asking ??= fetch(api, { headers: { Accept: "application/json" } }).then((answer) => (answer.ok ? answer.json() : null));
  const answer = await asking;
  asking = null;
  if (answer) told = { ...answer, seq };
  askFrame();
  return told;
}

const lastSeq = () => Number(strip().dataset.lastSeq);
const isByTime = () => strip().dataset.axis === "time";
function stepOf() {
  if (isByTime()) return told?.step;
  let step = 1;
  while (Math.ceil(lastSeq() / step) > Number(strip().dataset.columns)) step *= 2;
  return step;
}

// Where an event lies, 0 to 1; null where that is not known yet.
function placeOf(seq) {
  const step = stepOf();
  if (!isByTime()) return (seq - 1) / (Number(strip().dataset.columns) * step);
  if (!told?.columns) return null;
  const bucket = Math.min(told.columns.length - 1, Math.floor((seq - 1) / step));
  return (told.columns.slice(0, bucket + 1).findLast((column) => column !== null) ?? 0) / Number(strip().dataset.columns);
}

function nearestBucket(place) {
  const column = place * Number(strip().dataset.columns);
  let best = 0;
  told.columns.forEach((at, bucket) => {
    if (at !== null && Math.abs(at - column) < Math.abs((told.columns[best] ?? Infinity) - column)) best = bucket;
  });
  return best;
}

function seqAt(place) {
  const near = told?.errors.map((error) => ({ ...error, by: Math.abs(placeOf(error.seq) - place) })).filter(({ by }) => by < NEAR);
  if (near?.length) return near.sort((one, other) => one.by - other.by)[0].seq;
  if (isByTime()) return told?.columns ? nearestBucket(place) * told.step + 1 : null;
  return Math.max(1, Math.min(lastSeq(), Math.floor(place * Number(strip().dataset.columns) * stepOf()) + 1));
}

const placeAt = (event) => {
  const { left, width } = band().getBoundingClientRect();
  return Math.max(0, Math.min(0.9999, (event.clientX - left) / width));
};

function goTo(seq) {
  if (!seq) return null;
  const show = new URL(location).searchParams.get("show");
  return jump(`${base()}?event=${seq}${show ? `&show=${encodeURIComponent(show)}` : ""}`);
}

// The bracket -----------------------------------------------------------------------------------------------------

const STEPS = 8; // a row is looked for so often, this many px further
const APART = 36;
function rowNear(x, y, by) {
  for (let tries = 0; tries < STEPS; tries += 1) {
    const row = document.elementFromPoint(x, y + tries * by)?.closest("#timeline [data-seq]");
    if (row) return Number(row.dataset.seq);
  }
  return null;
}

let held = null; // where somebody drags it to, or steps to by key
eachFrame(() => {
  const bracket = view();
  if (!bracket || !strip().classList.contains("is-live")) return null;
  const { left, width } = byId("timeline").getBoundingClientRect();
  const x = left + width / 2;
  const first = held ?? rowNear(x, Math.max(0, strip().getBoundingClientRect().bottom) + 4, APART);
  const last = held ?? rowNear(x, innerHeight - 8, -APART);
  const from = first && placeOf(first);
  const to = last && placeOf(Math.max(first, last) + 1);
  return () => {
    bracket.hidden = from === null || to === null;
    if (bracket.hidden) return;
    bracket.style.left = `${100 * from}%`;
    bracket.style.width = `${100 * Math.max(0, Math.min(1, to) - from)}%`;
    bracket.setAttribute("aria-valuenow", first);
    bracket.setAttribute("aria-valuetext", gettext("event %(first)s of %(last)s", { first, last: lastSeq() }));
  };
});

let pressed = null;
document.addEventListener("pointerdown", (event) => {
  if (!view() || event.button || !event.target.closest?.("#strip .band")) return;
  event.preventDefault();
  pressed = { x: event.clientX, id: event.pointerId, drags: false };
  band().setPointerCapture(event.pointerId);
});
document.addEventListener("pointermove", (event) => {
  if (pressed?.id === event.pointerId) {
    pressed.drags ||= Math.abs(event.clientX - pressed.x) > DRAGS_FROM;
    if (pressed.drags) { held = seqAt(placeAt(event)); askFrame(); }
  }
  if (view() && (pressed || event.target.closest?.("#strip .band"))) point(event);
  else hideTip();
});
document.addEventListener("pointerup", async (event) => {
  if (pressed?.id !== event.pointerId) return;
  pressed = null;
  if (isByTime()) await places();
  await goTo(seqAt(placeAt(event)));
  held = null;
  askFrame();
});
document.addEventListener("pointercancel", () => { pressed = null; held = null; askFrame(); });

let jumping = null;
const strides = { ArrowLeft: -0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1 };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== view()) return;
  const now = Number(view().getAttribute("aria-valuenow"));
  const stride = strides[event.key] && Math.sign(strides[event.key]) * Math.max(1, Math.round(Math.abs(strides[event.key]) * lastSeq()));
  const to = stride ? now + stride : { Home: 1, End: lastSeq() }[event.key];
  if (!to) return;
  event.preventDefault();
  held = Math.max(1, Math.min(lastSeq(), to));
  askFrame();
  clearTimeout(jumping);
  jumping = setTimeout(async () => {
    await goTo(held);
    held = null;
    view()?.focus({ preventScroll: true });
    askFrame();
  }, JUMPS_AFTER);
});

// What lies under the pointer -------------------------------------------------------------------------------------

const money = (cost) => (cost === null || cost === undefined ? null : gettext("$%(amount)s so far", {
  amount: Number(cost) < 1 ? Number(Number(cost).toPrecision(2)) : Number(cost).toFixed(2),
}));

async function point(event) {
  const place = placeAt(event);
  if (!(await places()) || !band()) return;
  const seq = seqAt(place);
  const bucket = Math.floor((seq - 1) / told.step);
  const tip = band().querySelector(".band-tip");
  const turn = told.turns[bucket];
  const words = [turn ? gettext("turn %(turn)s", { turn }) : null, gettext("event %(seq)s", { seq: counted(seq) }), money(told.costs[bucket])];
  tip.replaceChildren(words.filter(Boolean).join(" · "));
  const error = told.errors.find((one) => Math.floor((one.seq - 1) / told.step) === bucket);
  if (error) {
    const line = document.createElement("span");
    line.className = "is-wrong untrusted";
    line.textContent = error.text || gettext("error");
    tip.append(line);
  }
  tip.hidden = false;
  const room = band().clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(room, place * band().clientWidth + 8))}px`;
}

function hideTip() {
  const tip = strip()?.querySelector(".band-tip:not([hidden])");
  if (tip) tip.hidden = true;
}

// Higher, by time, and what comes in ------------------------------------------------------------------------------

function grow(isGrown) {
  const button = strip().querySelector("[data-grow]");
  strip().classList.toggle("is-grown", isGrown);
  button.setAttribute("aria-pressed", isGrown);
  askFrame();
}

export function toggleStrip() {
  if (!strip()) return;
  const isGrown = !strip().classList.contains("is-grown");
  localStorage.setItem(GROWN, isGrown ? "1" : "");
  grow(isGrown);
}

function setUp() {
  if (!strip() || strip().classList.contains("is-live")) return;
  strip().classList.add("is-live");
  strip().querySelector("[data-grow]").hidden = false;
  grow(localStorage.getItem(GROWN) === "1");
  if (isByTime()) places();
}
// Not at afterSwap: until htmx has settled, a new element bears the class of the one with its id that it takes the place of.
document.addEventListener("htmx:afterSettle", setUp);
setUp();

document.addEventListener("click", (event) => {
  if (event.target.closest("#strip [data-grow]")) toggleStrip();
  const link = event.target.closest("#strip a[data-axis]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const address = new URL(location);
  address.searchParams.set("axis", link.dataset.axis);
  history.replaceState(history.state, "", address);
  strip().dataset.piece = strip().dataset.piece.replace(/axis=.*/, `axis=${link.dataset.axis}`);
  refresh("strip", () => fetchInPlace(strip));
});

let growing = null;
document.addEventListener("grew", () => {
  growing ??= setTimeout(() => {
    growing = null;
    if (strip() && !document.hidden && !pressed) refresh("strip", () => fetchInPlace(strip));
  }, REFRESHED_AFTER);
});
