// A session that goes on: the stream rings, and the pieces that changed are fetched. Nothing above is moved.

const live = document.getElementById("live");
const tail = () => document.getElementById("tail");
const unread = document.getElementById("unread");
const toggle = document.querySelector("[data-follow-toggle]");
let source = null;
let after = live.dataset.after;
let follow = false;
let fresh = 0;
let headTimer = null;

function open() {
  if (source || !live.dataset.stream || document.hidden) return;
  source = new EventSource(`${live.dataset.stream}?after=${after}`);
  source.addEventListener("event", (message) => {
    after = message.lastEventId || after;
    arrived(JSON.parse(message.data));
  });
  source.addEventListener("session", (message) => {
    const { status, event_count, pending_approvals } = JSON.parse(message.data);
    const told = [status, event_count, pending_approvals].join();
    if (told !== live.dataset.known) renewHead();
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
  if (tail()) htmx.trigger(tail(), "news");
  else announce();
  if (event.kind === "tool_result") renewOpenCalls();
  renewHead();
}

function renewHead() {
  clearTimeout(headTimer);
  headTimer = setTimeout(() => {
    const head = document.getElementById("s-head");
    if (!head.querySelector("details[open]")) htmx.trigger(head, "news");
  }, 600);
}

// What somebody opened in the head stays open, also when the answer was on its way already.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "s-head" && event.detail.target.querySelector("details[open]")) event.detail.shouldSwap = false;
});

// A result belongs to a call that is shown already: those without one are asked for again.
function renewOpenCalls() {
  const open = [...document.querySelectorAll("#timeline .call.is-none")].slice(-12);
  for (const call of open) {
    htmx.ajax("GET", `${window.session.base()}/rows?only=${call.dataset.seq}`, { target: `#${call.id}`, swap: "outerHTML" });
  }
}

// What somebody is typing is worth more than the newest state: the server says so again when they send it.
function renewCard(approval) {
  const card = document.getElementById(`approval-${approval.id}`);
  if (!card) return;
  const typed = [...card.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
  if (!typed) htmx.trigger(card, "changed");
}
function renewTail() {
  if (tail()) htmx.trigger(tail(), "news");
}
document.addEventListener("decided", () => { renewHead(); renewTail(); });
document.addEventListener("said", renewTail);

const belowSight = (row) => row.getBoundingClientRect().top > innerHeight;

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.requestConfig?.path.includes("tail=1")) announce();
});

function announce() {
  if (follow) {
    fresh = 0;
    window.scrollTo({ top: document.documentElement.scrollHeight });
  } else if (fresh && (!tail() || belowSight(tail()))) {
    unread.querySelector("span").textContent = `${fresh} new`;
    unread.hidden = false;
  } else {
    fresh = 0;
  }
}

unread.addEventListener("click", () => {
  unread.hidden = true;
  fresh = 0;
  if (tail()) tail().scrollIntoView({ block: "end" });
  else window.session.go(`${window.session.base()}?until=999999999`);
});
document.addEventListener("scroll", () => {
  if (!unread.hidden && tail() && !belowSight(tail())) { unread.hidden = true; fresh = 0; }
}, { passive: true });

toggle?.addEventListener("click", () => {
  follow = !follow;
  toggle.setAttribute("aria-pressed", String(follow));
  if (follow) announce();
});
if (toggle) toggle.hidden = false;
open();
