// A session that goes on: the event stream says what changed, and those parts of the page are fetched. Nothing above is
// moved.

import { isLost, say, stay } from "../connection.js";
import { isBeingFilledIn } from "../keyboard.js";
import { askFrame } from "./frame.js";
import { base, go, toTheEnd as toTheEndOfRows } from "./navigation.js";
import { fetchInPlace, refresh, refreshById } from "./pieces.js";
import { gettext } from "../words.js";

const live = document.getElementById("live");
const tail = () => document.getElementById("tail");
const unread = document.getElementById("unread");
const toggle = document.querySelector("[data-follow-toggle]");
let after = live.dataset.after;
let follow = false;
let unseen = 0;
let headTimer = null;
let overviewTimer = null;
let turnStateTimer = null;
let outlineTimer = null;
let outlineFrom = Infinity;
let wasOpen = false;
let writing = null; // writing.js, once a message is being written

function hear(source) {
  source.addEventListener("open", () => {
    if (wasOpen) { refreshAll(); hearOthers(); } // what a request lost while the network was away; the first time the page has just come
    wasOpen = true;
  });
  source.addEventListener("event", (message) => {
    after = message.lastEventId || after;
    addEvent(JSON.parse(message.data));
  });
  source.addEventListener("said", (message) => {
    writing ??= import("./writing.js").catch(() => { writing = null; }); // asked for again with the next piece
    writing.then((came) => {
      came?.addText(JSON.parse(message.data));
      if (follow) toTheEnd();
    });
  });
  source.addEventListener("session", (message) => {
    const { status, event_count, pending_approvals, queued_messages } = JSON.parse(message.data);
    const state = [status, event_count, pending_approvals, queued_messages].join();
    if (state !== live.dataset.known) { refreshHead(); refreshTurnState(); }
    if (status === "archived") endFollow();
    live.dataset.known = state;
  });
  source.addEventListener("deleted", () => { // nothing of it may stay on a screen; the page says when it was deleted
    leave();
    location.reload();
  });
  source.addEventListener("review", hearOthers);
  source.addEventListener("approval", (message) => refreshCard(JSON.parse(message.data)));
}

const hearOthers = () => import("./others.js").then(({ news }) => news());

function addEvent(event) {
  unseen += 1;
  writing?.then((came) => came?.expectRow(event));
  if (tail()) refreshTail();
  else announce();
  if (event.kind === "tool_result") refreshOpenCalls();
  if (["user_message", "approval", "error"].includes(event.kind)) refreshOutline(event.turn);
  refreshHead();
  refreshTurnState();
  document.dispatchEvent(new Event("grew"));
}

// Turns that began or changed since the outline came; where it ends before them, its own link leads on to them.
function refreshOutline(turn) {
  outlineFrom = Math.min(outlineFrom, turn);
  clearTimeout(outlineTimer);
  outlineTimer = setTimeout(() => refresh("outline", fetchOutline), 400);
}

async function fetchOutline() {
  const outline = document.getElementById("outline");
  const last = outline.lastElementChild;
  const after = Math.min(outlineFrom, Number(last?.dataset.turn ?? -1) + 1) - 1;
  outlineFrom = Infinity;
  if (last && !last.dataset.turn) return;
  await htmx.ajax("GET", `${base()}/outline${after < 0 ? "" : `?after=${after}`}`, { source: outline, target: outline, swap: "beforeend" });
  const seen = {};
  for (const mark of document.querySelectorAll("#outline li[data-turn]")) {
    seen[mark.dataset.turn]?.remove();
    seen[mark.dataset.turn] = mark;
  }
  askFrame();
}

function refreshTurnState() {
  clearTimeout(turnStateTimer);
  turnStateTimer = setTimeout(() => refreshById("standing"), 250);
}

// What lies beside the queue gives way to it.
document.addEventListener("htmx:afterSwap", () => {
  document.getElementById("main").classList.toggle("with-queue", Boolean(document.querySelector("#standing .queue")));
});

function refreshHead() {
  clearTimeout(headTimer);
  headTimer = setTimeout(() => {
    const head = document.getElementById("s-head");
    if (!head.querySelector("details[open]")) refreshById("s-head");
  }, 600);
  clearTimeout(overviewTimer);
  overviewTimer = setTimeout(() => { if (!isUsed(overview())) refreshById("overview"); }, 2_000);
}

// What somebody opened or writes in the head or the overview stays, also when the answer was on its way already.
const overview = () => document.getElementById("overview");
const isUsed = (piece) => Boolean(piece.querySelector("details[open], [aria-busy]")) || piece.contains(document.activeElement) || isBeingFilledIn(piece);
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig } = event.detail;
  const isHead = target.id === "s-head" && target.querySelector("details[open]");
  const isOverview = target.id === "overview" && requestConfig.elt === target && isUsed(target);
  if (isHead || isOverview) event.detail.shouldSwap = false;
});

// The head says whether there are errors by now.
document.addEventListener("htmx:afterSettle", () => {
  const walk = document.querySelector(".walk[data-walk=error]");
  if (walk?.hidden && document.querySelector("#s-head .s-errors.is-wrong")) walk.hidden = false;
});

// A result belongs to a call that is shown already: those without one are asked for again.
function refreshOpenCalls() {
  for (const call of [...document.querySelectorAll("#timeline .call.is-none")].slice(-12)) refreshRow(call.dataset.seq);
}

// What was away missed what became of it meanwhile.
document.addEventListener("returned", ({ detail }) => {
  if (!live.dataset.stream) return;
  for (const call of detail.flatMap((node) => [...node.querySelectorAll(".call.is-none")])) refreshRow(call.dataset.seq);
  for (const card of detail.flatMap((node) => [...node.querySelectorAll(".card.is-open")])) {
    if (!isBeingFilledIn(card)) refreshById(card.id);
  }
});

// What a sub-agent did lies below the line of its call, perhaps open: then the line alone is refreshed.
function refreshRow(seq) {
  const line = () => {
    const row = document.getElementById(`e-${seq}`);
    return row?.closest(".line") ?? row;
  };
  const select = line()?.nextElementSibling?.matches(".below") ? ".line" : null;
  refresh(`row ${seq}`, () => fetchInPlace(line, `${base()}/rows?only=${seq}${document.getElementById("timeline").dataset.kept}`, select));
}

// A card that somebody types on stays, and says that it is settled.
function refreshCard({ id, status }) {
  if (status !== "pending") import("./settled.js").then(({ unmark }) => unmark());
  const card = document.getElementById(`approval-${id}`);
  if (!card) return;
  if (isBeingFilledIn(card)) return import("../settled.js").then(({ tell }) => tell(card));
  const row = card.closest(".asked");
  if (row && status !== "pending") refreshRow(row.dataset.seq); // its edge says whether it waits, too
  else refreshById(card.id);
}

// data-more: the answer was a full page of rows, or more were written while it was made.
const refreshTail = () => refresh("tail", async () => {
  await fetchInPlace(tail);
  if (tail()?.matches("[data-more]")) setTimeout(refreshTail, 400);
});

function refreshAll() {
  refreshTail();
  refreshHead();
  refreshTurnState();
}
document.addEventListener("decided", refreshAll);
document.addEventListener("said", () => {
  refreshAll();
  document.getElementById("say-text")?.focus({ preventScroll: true });
  setFollow(true); // who says something waits for the answer
  announce();
});

const belowSight = (row) => row.getBoundingClientRect().top > innerHeight;

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.requestConfig?.path.includes("tail=1")) announce();
  if (event.target.id === "timeline" && (unseen || follow)) refreshTail(); // what happened while its last window came
});

function announce() {
  if (follow) {
    unseen = 0;
    toTheEnd();
  } else if (unseen && (!tail() || belowSight(tail()))) {
    unread.querySelector("span").textContent = gettext("%(count)s new", { count: unseen });
    unread.hidden = false;
  } else {
    unseen = 0;
  }
}

function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight });
}

// Seconds that pass: how long a turn runs, and until when it is tried again. clock.js has those of cards.
const words = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} m ${seconds % 60} s`);
function tick() {
  for (const since of isLost() ? [] : document.querySelectorAll("[data-since]")) { // nobody knows that it goes on
    since.textContent = words(Math.max(0, Math.round((Date.now() - new Date(since.dataset.since)) / 1000)));
  }
  for (const until of document.querySelectorAll("span[data-until]")) {
    const left = Math.round((new Date(until.dataset.until) - Date.now()) / 1000);
    until.textContent = left > 0 ? gettext("in %(time)s", { time: words(left) }) : gettext("now");
  }
}
setInterval(tick, 1000);
document.addEventListener("htmx:afterSwap", tick);
tick();

unread.addEventListener("click", () => {
  unread.hidden = true;
  unseen = 0;
  if (tail()) tail().scrollIntoView({ block: "end" });
  else go(`${base()}?until=999999999${document.getElementById("timeline").dataset.kept}`).then(() => toTheEndOfRows());
});
document.addEventListener("scroll", () => {
  if (!unread.hidden && tail() && !belowSight(tail())) { unread.hidden = true; unseen = 0; }
}, { passive: true });

function setFollow(on) {
  if (follow === on) return;
  follow = on;
  toggle?.setAttribute("aria-pressed", String(follow));
  if (follow) announce();
}
// To an archived session nothing is added; what people say of it still comes.
function endFollow() {
  setFollow(false);
  if (!toggle?.isConnected) return;
  toggle.remove();
  say(gettext("The session was archived: there is nothing to follow any more."));
}
toggle?.addEventListener("click", () => setFollow(!follow));
if (toggle) toggle.hidden = false;

// Who scrolls up wants to read there. Only people count: a page that gets shorter scrolls, too.
document.addEventListener("wheel", (event) => { if (event.deltaY < 0) setFollow(false); }, { passive: true });
document.addEventListener("touchmove", () => setFollow(false), { passive: true });
document.addEventListener("keydown", (event) => { if (["PageUp", "Home", "ArrowUp"].includes(event.key) && !event.target.closest("textarea")) setFollow(false); });

if (location.hash === "#follow") {
  history.replaceState(history.state, "", location.pathname + location.search);
  setFollow(true);
}
const leave = live.dataset.stream ? stay(() => `${live.dataset.stream}?after=${after}`, hear) : null;
