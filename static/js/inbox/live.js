// The inbox stays as things stand: a settled row changes in place, a new one comes where it moves nothing that is in
// sight, else it waits behind a button; the numbers follow at once.

import { listen } from "../approval-stream.js";
import { showCount } from "../waiting.js";
import { refresh, shownId } from "./cards.js";
import { allRows, current, inbox, isOutOfSight, list, placeOf, rowOf } from "./rows.js";
import { gettext } from "../words.js";

const pill = document.getElementById("inbox-new");
const asked = new Set();
const held = new Map(); // id -> row that would have moved others
let timer = null;
let again = false;

export function refreshRows(ids) {
  for (const id of ids) asked.add(id);
  clearTimeout(timer);
  timer = setTimeout(fetchRows, 60);
}

async function fetchRows() {
  const ids = [...asked].slice(0, 200);
  for (const id of ids) asked.delete(id);
  const query = new URLSearchParams([...ids.map((id) => ["id", id]), ["show", inbox.dataset.show], ...(again ? [["again", "1"]] : [])]);
  const isAgain = again;
  again = false;
  let page;
  try {
    const answer = await fetch(`${inbox.dataset.lines}?${query}`, { headers: { "HX-Request": "true" } });
    if (!answer.ok) throw new Error(String(answer.status));
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    again ||= isAgain;
    setTimeout(() => refreshRows(ids), 2_000);
    return;
  }
  for (const row of page.querySelectorAll(".inbox-row")) place(document.adoptNode(row));
  document.dispatchEvent(new Event("placed"));
  showChips(page);
  showNumbers(Number(page.querySelector("[data-waiting]").dataset.waiting));
  if (asked.size) timer = setTimeout(fetchRows, 60);
}

// In place: who is about to click one, or has the focus on it, keeps it.
function showChips(page) {
  for (const chip of page.querySelectorAll("#inbox-chips [data-show]")) {
    const shown = document.querySelector(`#inbox-chips [data-show=${chip.dataset.show}]`);
    shown.className = chip.className;
    shown.querySelector("b").textContent = chip.querySelector("b").textContent;
  }
}

function place(row) {
  const old = rowOf(row.dataset.id);
  const id = row.dataset.id;
  if (old?.dataset.stamp === row.dataset.stamp && old.dataset.status === row.dataset.status) return; // as it stands already
  if (old) {
    const line = row.querySelector("a[id]");
    if (old === current()) line.setAttribute("aria-current", "true");
    const hadFocus = old.contains(document.activeElement);
    const picked = old.querySelector("input[type=checkbox]")?.checked;
    if (old.matches(".is-sent") && row.dataset.status === "pending") row.classList.add("is-sent");
    if (old.matches(".is-refused") && row.dataset.status === "pending") row.classList.add("is-refused");
    const changed = old.dataset.version !== row.dataset.version;
    old.replaceWith(row);
    if (picked && row.querySelector("input[type=checkbox]")) row.querySelector("input[type=checkbox]").checked = true;
    if (hadFocus) line.focus({ preventScroll: true });
    if (changed && shownId() === id) refresh(id);
  } else if (row.dataset.status === "pending") {
    const before = placeOf(row);
    if (before?.matches(".inbox-more")) { // it comes with the next rows, or is asked for when those that are coming are here
      if (before.querySelector(".htmx-request")) refreshRows([id]);
      return;
    }
    if (isOutOfSight(before)) list().insertBefore(row, before);
    else hold(row);
  } else held.delete(id);
  showPill();
}

function hold(row) {
  held.set(row.dataset.id, row);
}

function showPill() {
  pill.hidden = !held.size;
  pill.querySelector("button").textContent = gettext("%(count)s new", { count: held.size });
}

pill.querySelector("button").addEventListener("click", () => {
  for (const row of held.values()) list().insertBefore(row, placeOf(row));
  const first = allRows().find((row) => held.has(row.dataset.id));
  held.clear();
  showPill();
  first?.scrollIntoView({ block: "center" });
});

function showNumbers(count) {
  showCount(count);
  const words = document.querySelector("[data-waiting-words]");
  words.textContent = gettext("%(count)s pending, most urgent first", { count });
  words.parentElement.hidden = !count;
}

function changed({ id, status, version }) {
  const row = rowOf(id);
  if (row?.dataset.version === String(version) && row.dataset.status === status) return;
  if (!row && status !== "pending" && !held.has(id)) return;
  refreshRows([id]);
}

listen(inbox.dataset.stream, {
  approval: changed,
  waiting: ({ count }) => showNumbers(count),
  again() {
    again = true; // the stream was away: what came meanwhile is not among the rows
    refreshRows(allRows().filter((row) => row.dataset.status === "pending").map((row) => row.dataset.id));
  },
});
