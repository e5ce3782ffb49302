// A session that goes on: the stream rings, and the pieces that changed are fetched. Nothing above is moved.

const { renew, renewById, fetchInPlace } = window.pieces;
const live = document.getElementById("live");
const tail = () => document.getElementById("tail");
const unread = document.getElementById("unread");
const toggle = document.querySelector("[data-follow-toggle]");
let source = null;
let after = live.dataset.after;
let follow = false;
let fresh = 0;
let headTimer = null;
let standingTimer = null;
let outlineTimer = null;
let outlineFrom = Infinity;

function open() {
  if (source || !live.dataset.stream || document.hidden) return;
  source = new EventSource(`${live.dataset.stream}?after=${after}`);
  source.addEventListener("open", renewAll); // what a request lost while the network was away
  source.addEventListener("event", (message) => {
    after = message.lastEventId || after;
    arrived(JSON.parse(message.data));
  });
  source.addEventListener("said", (message) => {
    window.writing.said(JSON.parse(message.data));
    if (follow) toTheEnd();
  });
  source.addEventListener("session", (message) => {
    const { status, event_count, pending_approvals, queued_messages } = JSON.parse(message.data);
    const told = [status, event_count, pending_approvals, queued_messages].join();
    if (told !== live.dataset.known) { renewHead(); renewStanding(); }
    live.dataset.known = told;
  });
  source.addEventListener("approval", (message) => renewCard(JSON.parse(message.data)));
}

// A browser opens six connections to a host: pages that nobody looks at give theirs back.
function close() {
  source?.close();
  source = null;
}
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));

function arrived(event) {
  fresh += 1;
  window.writing.logged(event);
  if (tail()) renewTail();
  else announce();
  if (event.kind === "tool_result") renewOpenCalls();
  if (["user_message", "approval", "error"].includes(event.kind)) renewOutline(event.turn);
  renewHead();
  renewStanding();
}

// Turns that began or changed since the outline came; where it ends before them, its own link leads on to them.
function renewOutline(turn) {
  outlineFrom = Math.min(outlineFrom, turn);
  clearTimeout(outlineTimer);
  outlineTimer = setTimeout(() => renew("outline", fetchOutline), 400);
}

async function fetchOutline() {
  const outline = document.getElementById("outline");
  const last = outline.lastElementChild;
  const after = Math.min(outlineFrom, Number(last?.dataset.turn ?? -1) + 1) - 1;
  outlineFrom = Infinity;
  if (last && !last.dataset.turn) return;
  await htmx.ajax("GET", `${window.session.base()}/outline${after < 0 ? "" : `?after=${after}`}`, { source: outline, target: outline, swap: "beforeend" });
  for (const mark of document.querySelectorAll("#outline li[data-turn]")) {
    if (mark !== [...document.querySelectorAll(`#outline li[data-turn="${mark.dataset.turn}"]`)].at(-1)) mark.remove();
  }
  document.dispatchEvent(new Event("scroll")); // which turn is being read is marked again
}

function renewStanding() {
  clearTimeout(standingTimer);
  standingTimer = setTimeout(() => renewById("standing"), 250);
}

function renewHead() {
  clearTimeout(headTimer);
  headTimer = setTimeout(() => {
    const head = document.getElementById("s-head");
    if (!head.querySelector("details[open]")) renewById("s-head");
  }, 600);
}

// What somebody opened in the head stays open, also when the answer was on its way already.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "s-head" && event.detail.target.querySelector("details[open]")) event.detail.shouldSwap = false;
});

// A result belongs to a call that is shown already: those without one are asked for again.
function renewOpenCalls() {
  for (const call of [...document.querySelectorAll("#timeline .call.is-none")].slice(-12)) renewRow(call.dataset.seq);
}

// What a sub-agent did lies below the line of its call, perhaps open: then the line alone is renewed.
function renewRow(seq) {
  const line = () => {
    const row = document.getElementById(`e-${seq}`);
    return row?.closest(".line") ?? row;
  };
  const select = line()?.nextElementSibling?.matches(".below") ? ".line" : null;
  renew(`row ${seq}`, () => fetchInPlace(line, `${window.session.base()}/rows?only=${seq}`, select));
}

// What somebody is typing is worth more than the newest state: the server says so again when they send it.
function renewCard(approval) {
  const card = document.getElementById(`approval-${approval.id}`);
  if (!card) return;
  const typed = [...card.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
  if (typed) return;
  const row = card.closest(".asked");
  if (row && approval.status !== "pending") renewRow(row.dataset.seq); // its edge says whether it waits, too
  else renewById(card.id);
}

// A page of rows that was full, or came while more were written, may not be all there is.
const renewTail = () => renew("tail", async () => {
  await fetchInPlace(tail);
  if (tail()?.matches("[data-more]")) setTimeout(renewTail, 400);
});

function renewAll() {
  renewTail();
  renewHead();
  renewStanding();
}
document.addEventListener("decided", renewAll);
document.addEventListener("said", () => {
  renewAll();
  document.getElementById("say-text")?.focus({ preventScroll: true });
  setFollow(true); // who says something waits for the answer
  announce();
});

const belowSight = (row) => row.getBoundingClientRect().top > innerHeight;

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.requestConfig?.path.includes("tail=1")) announce();
});

function announce() {
  if (follow) {
    fresh = 0;
    toTheEnd();
  } else if (fresh && (!tail() || belowSight(tail()))) {
    unread.querySelector("span").textContent = `${fresh} new`;
    unread.hidden = false;
  } else {
    fresh = 0;
  }
}

function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight });
}

// Seconds that pass: how long a turn runs, and until when it is waited.
const words = (seconds) => (seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} m ${seconds % 60} s`);
function tick() {
  for (const since of document.querySelectorAll("[data-since]")) {
    since.textContent = words(Math.max(0, Math.round((Date.now() - new Date(since.dataset.since)) / 1000)));
  }
  for (const until of document.querySelectorAll("[data-until]")) {
    const left = Math.round((new Date(until.dataset.until) - Date.now()) / 1000);
    until.textContent = left > 0 ? `in ${words(left)}` : "now";
  }
}
setInterval(tick, 1000);
document.addEventListener("htmx:afterSwap", tick);
tick();

unread.addEventListener("click", () => {
  unread.hidden = true;
  fresh = 0;
  if (tail()) tail().scrollIntoView({ block: "end" });
  else window.session.go(`${window.session.base()}?until=999999999`);
});
document.addEventListener("scroll", () => {
  if (!unread.hidden && tail() && !belowSight(tail())) { unread.hidden = true; fresh = 0; }
}, { passive: true });

function setFollow(on) {
  if (follow === on) return;
  follow = on;
  toggle?.setAttribute("aria-pressed", String(follow));
  if (follow) announce();
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
open();
