// Errors and pending approvals, gone through one by one. Which of how many one is at ("3 of 160") is known of all of
// them, not of those that are loaded: their numbers come once, and again when the session has gone on.

import { base, jump, reveal } from "./navigation.js";
import { isAwayBetween } from "./windows.js";
import { counted, gettext } from "../words.js";

const live = document.getElementById("live");
const said = document.getElementById("walk-said");
const walkOf = (what) => document.querySelector(`.walk[data-walk="${what}"]`);
const unreached = (what, reason) => (what === "error"
  ? gettext("The errors could not be fetched. %(reason)s", { reason })
  : gettext("The approvals could not be fetched. %(reason)s", { reason }));
const known = new Map(); // what -> { seqs, count, at } of the session as it stood then

async function marksOf(what) {
  const stood = live.dataset.known;
  if (known.get(what)?.stood === stood) return known.get(what);
  const answer = await fetch(walkOf(what).dataset.marks);
  if (!answer.ok) throw new Error(gettext("The server answered %(status)s.", { status: answer.status }));
  const marks = { ...(await answer.json()), stood };
  known.set(what, marks);
  return marks;
}

function show(what, marks, seq) {
  const place = walkOf(what).querySelector(".walk-place");
  const at = marks.seqs.indexOf(seq) + 1;
  const words = marks.count === 1 ? place.dataset.one : place.dataset.several;
  place.dataset.short = at ? `${counted(at)}/${counted(marks.count)}` : counted(marks.count);
  place.textContent = at ? gettext("%(at)s of %(count)s", { at: counted(at), count: counted(marks.count) }) : `${counted(marks.count)} ${words}`;
}

// The one that was gone to last, while it can still be seen.
const walked = new Map();
export function walkedTo(what) {
  const row = document.getElementById(`e-${walked.get(what)}`);
  const { top, bottom } = row?.getBoundingClientRect() ?? {};
  return row && bottom > 0 && top < innerHeight ? walked.get(what) : undefined;
}

// Where a walk is on its way to: who presses faster than rows load goes on from there.
const heading = new Map();

// by: 1 to the next one behind "here", -1 to the one before.
export async function step(what, by, here) {
  const walk = walkOf(what);
  if (!walk || walk.hidden) return;
  let marks;
  try {
    marks = await marksOf(what);
  } catch (error) {
    document.dispatchEvent(new CustomEvent("trouble", { detail: unreached(what, error.message) }));
    return;
  }
  const { seqs } = marks;
  here = heading.get(what) ?? here;
  if (!seqs.length) return;
  const found = by > 0 ? seqs.find((seq) => seq > here) : seqs.findLast((seq) => seq < here);
  const seq = found ?? seqs.at(by > 0 ? 0 : -1);
  show(what, marks, seq);
  walked.set(what, seq);
  const values = { what: walk.querySelector(".walk-place").dataset.one, at: seqs.indexOf(seq) + 1, count: marks.count };
  if (found !== undefined) said.textContent = gettext("%(what)s %(at)s of %(count)s", values);
  else if (by > 0) said.textContent = gettext("%(what)s %(at)s of %(count)s, the first again", values);
  else said.textContent = gettext("%(what)s %(at)s of %(count)s, the last again", values);
  walk.classList.toggle("is-again", found === undefined);
  heading.set(what, seq);
  await goTo(seq, here);
  if (heading.get(what) === seq) heading.delete(what);
}

export async function goTo(seq, here = seq) {
  const row = document.getElementById(`e-${seq}`);
  if (row && !isAwayBetween(Math.min(here, seq), Math.max(here, seq))) return reveal(row);
  await jump(`${base()}?event=${seq}${document.getElementById("timeline").dataset.kept}`);
}

// A row that is one of them says which when it gets the focus, however it was reached.
document.addEventListener("focusin", (event) => {
  const row = event.target.closest("#timeline [data-seq]");
  for (const [what, marks] of known) if (row && marks.seqs.includes(Number(row.dataset.seq))) show(what, marks, Number(row.dataset.seq));
});
