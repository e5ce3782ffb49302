// What a pointer or a key does on the band of the whole run: a click or a key leads elsewhere, the bracket can be dragged.

import { hold, isByTime, lastSeq, placeOf, places, press, stepOf, strip, told, view } from "./band.js";
import { base, jump } from "./navigation.js";
import { counted, gettext } from "../words.js";

const JUMPS_AFTER = 250; // ms without another key
const DRAGS_FROM = 4; // px
const NEAR = 0.004; // of the band: who points so near to an error means it
const band = () => strip()?.querySelector(".band");

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
  const asked = new URL(location).searchParams;
  const kept = ["show", "folded"].filter((name) => asked.has(name)).map((name) => `&${name}=${encodeURIComponent(asked.get(name))}`);
  return jump(`${base()}?event=${seq}${kept.join("")}`);
}

let pressed = null;
export function pointerdown(event) {
  if (!view() || event.button || !event.target.closest?.("#strip .band")) return;
  event.preventDefault();
  pressed = { x: event.clientX, id: event.pointerId, drags: false };
  press(true);
  if (event.eventPhase) band().setPointerCapture(event.pointerId); // of one that is over this was fetched too late
}

export function pointermove(event) {
  if (pressed?.id === event.pointerId) {
    pressed.drags ||= Math.abs(event.clientX - pressed.x) > DRAGS_FROM;
    if (pressed.drags) hold(seqAt(placeAt(event)));
  }
  if (view() && (pressed || event.target.closest?.("#strip .band"))) point(event);
  else hideTip();
}

export async function pointerup(event) {
  if (pressed?.id !== event.pointerId) return;
  release();
  if (isByTime()) await places();
  await goTo(seqAt(placeAt(event)));
  hold(null);
}

export function pointercancel() {
  release();
  hold(null);
}

function release() {
  pressed = null;
  press(false);
}

let jumping = null;
const strides = { ArrowLeft: -0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1 };
export function keydown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== view()) return;
  const now = Number(view().getAttribute("aria-valuenow"));
  const stride = strides[event.key] && Math.sign(strides[event.key]) * Math.max(1, Math.round(Math.abs(strides[event.key]) * lastSeq()));
  const to = stride ? now + stride : { Home: 1, End: lastSeq() }[event.key];
  if (!to) return;
  event.preventDefault();
  const seq = Math.max(1, Math.min(lastSeq(), to));
  hold(seq);
  clearTimeout(jumping);
  jumping = setTimeout(async () => {
    await goTo(seq);
    hold(null);
    view()?.focus({ preventScroll: true });
  }, JUMPS_AFTER);
}

// What lies under the pointer.
const money = (cost) => (cost === null || cost === undefined ? null : gettext("%(cost)s so far", {
  cost: `${strip().dataset.least ?? ""}$${Number(cost) < 1 ? Number(Number(cost).toPrecision(2)) : Number(cost).toFixed(2)}`,
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
