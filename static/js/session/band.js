// Where events lie in the band of the whole run, and where somebody holds its bracket.

import { askFrame } from "./frame.js";

export const strip = () => document.getElementById("strip");
export const view = () => strip()?.querySelector(".band-view");

// What lies where, as the API tells it; asked for when somebody first points at the band, or reads by time.
export let told = null;
let asking = null;
export async function places() {
  const { api, lastSeq: seq } = strip().dataset;
  if (told?.seq === seq) return told;
  asking ??= fetch(api, { headers: { Accept: "application/json" } }).then((answer) => (answer.ok ? answer.json() : null));
  const answer = await asking;
  asking = null;
  if (answer) told = { ...answer, seq };
  askFrame();
  return told;
}

export const lastSeq = () => Number(strip().dataset.lastSeq);
export const isByTime = () => strip().dataset.axis === "time";
export function stepOf() {
  if (isByTime()) return told?.step;
  let step = 1;
  while (Math.ceil(lastSeq() / step) > Number(strip().dataset.columns)) step *= 2;
  return step;
}

// Where an event lies, 0 to 1; null where that is not known yet.
export function placeOf(seq) {
  const step = stepOf();
  if (!isByTime()) return (seq - 1) / (Number(strip().dataset.columns) * step);
  if (!told?.columns) return null;
  const bucket = Math.min(told.columns.length - 1, Math.floor((seq - 1) / step));
  return (told.columns.slice(0, bucket + 1).findLast((column) => column !== null) ?? 0) / Number(strip().dataset.columns);
}

export let held = null; // where somebody drags the bracket to, or steps to by key
export function hold(seq) {
  held = seq;
  askFrame();
}

export let isPressed = false;
export const press = (is) => { isPressed = is; };
