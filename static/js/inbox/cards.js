// The card beside the list. Cards of the next rows are fetched before they are wanted, so that a move is local; a
// request that was overtaken is dropped.

import { isBeingFilledIn as isFilledIn } from "../keyboard.js";
import { allRows, current, inbox, isOpen, rowOf } from "./rows.js";
import { gettext } from "../words.js";

const AHEAD = 6;
const byId = (id) => document.getElementById(id);
const fetched = new Map(); // id -> HTML of the card at the row's version
let fetching = null; // { ids, request, controller }
let ledTimer = null;
let ledRequest = null;
const shownListeners = [];

export const shownId = () => byId("card-place").querySelector(".card")?.dataset.approval ?? null;
export const shownCard = () => byId("card-place").querySelector(".card.is-open");
export const onShown = (listener) => shownListeners.push(listener);
export const forget = (id) => fetched.delete(id);
export const keep = (id, html) => fetched.set(id, html);

// What somebody unfolded of the arguments: of the same card it stays so.
const folds = (place) => [...place.querySelectorAll(".card-arguments details")];

export function put(html) {
  const place = byId("card-place");
  const pane = byId("chosen");
  const [before, top, hadFocus] = [shownId(), pane.scrollTop, place.contains(document.activeElement)];
  const wereOpen = folds(place).map((fold) => fold.open);
  place.innerHTML = html;
  htmx.process(place);
  const card = place.querySelector(".card");
  if (card) card.tabIndex = -1;
  const isSame = before !== null && before === shownId();
  pane.scrollTop = isSame ? top : 0;
  if (isSame && folds(place).length === wereOpen.length) folds(place).forEach((fold, at) => { fold.open = wereOpen[at]; });
  if (hadFocus) card?.focus({ preventScroll: true });
  for (const listener of shownListeners) listener(card);
}

// Shows the card of a row: at once where it was fetched before, else as soon as it is there.
export async function show(row) {
  const id = row.dataset.id;
  clearTimeout(ledTimer);
  ledRequest?.abort();
  byId("led-place").replaceChildren();
  if (!fetched.has(id)) {
    byId("card-place").replaceChildren(waitingLine());
    await load([id]);
    if (current()?.dataset.id !== id) return false; // somebody is further already
    if (!fetched.has(id)) return false;
  }
  put(fetched.get(id));
  ledTimer = setTimeout(() => showLed(id), 250);
  prefetch(row);
  return true;
}

function waitingLine() {
  const line = document.createElement("p");
  line.className = "quiet card-loading";
  line.textContent = gettext("Loading…");
  return line;
}

export function prefetch(row) {
  const rows = allRows().filter(isOpen);
  const at = rows.indexOf(row);
  const wanted = [...rows.slice(at + 1, at + 1 + AHEAD), ...rows.slice(Math.max(0, at - 1), Math.max(0, at))];
  const missing = wanted.map((one) => one.dataset.id).filter((id) => !fetched.has(id) && !fetching?.ids.includes(id));
  if (missing.length > AHEAD / 2 || (missing.length && !fetching)) load(missing);
}

async function load(ids) {
  const missing = ids.filter((id) => !fetching?.ids.includes(id));
  if (!missing.length) return fetching.request;
  const address = `${inbox.dataset.cards}?${missing.map((id) => `id=${id}`).join("&")}`;
  const mine = { ids: missing };
  mine.request = request(address, mine);
  fetching = mine;
  await mine.request;
}

async function request(address, mine) {
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" } });
    if (!answer.ok) throw new Error(gettext("the server answered %(status)s", { status: answer.status }));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const card of page.querySelectorAll("template[data-card]")) fetched.set(card.dataset.card, card.innerHTML);
  } catch (error) {
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The card could not be loaded: %(reason)s.", { reason: error.message }) }));
  } finally {
    if (fetching === mine) fetching = null;
  }
}

async function showLed(id) {
  ledRequest = new AbortController();
  try {
    const answer = await fetch(inbox.dataset.led.replace("ID", id), { headers: { "HX-Request": "true" }, signal: ledRequest.signal });
    if (!answer.ok || current()?.dataset.id !== id) return;
    byId("led-place").innerHTML = await answer.text();
    htmx.process(byId("led-place"));
  } catch (error) {
    if (error.name !== "AbortError") document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The conversation so far could not be loaded.") }));
  }
}

// A card that changed on the server: fetched anew, and shown where it is the one in front. One that somebody types on stays,
// and says that it is settled.
export async function refresh(id) {
  fetched.delete(id);
  if (shownId() !== id) return;
  if (isBeingFilledIn()) return import("../settled.js").then(({ tell }) => tell(byId("card-place").querySelector(".card")));
  await load([id]);
  if (shownId() === id && !isBeingFilledIn() && fetched.has(id)) put(fetched.get(id));
}

export const isBeingFilledIn = () => isFilledIn(byId("card-place"));

export function rememberFirst() {
  const id = shownId();
  if (id && rowOf(id)) fetched.set(id, byId("card-place").innerHTML);
}
