// Decisions on their way. A plain approval is sent and the next card is there at once; what somebody wrote is waited for.

import { forget, keep, put, shownId } from "./cards.js";
import { isTyping, keyOf } from "../keyboard.js";
import { inbox, neighbour, rowOf } from "./rows.js";
import { refreshRows } from "./live.js";
import { select, showEmpty } from "./selecting.js";
import { gettext } from "../words.js";

const status = document.getElementById("inbox-just");

// In the capture phase: htmx listens on the form itself, and this page sends in its own way.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("#card-place form.card-form");
  if (!form || event.submitter?.hasAttribute("formaction")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  send(form, event.submitter);
}, { capture: true });

async function send(form, button) {
  const card = form.closest(".card");
  const id = card.dataset.approval;
  const row = rowOf(id);
  if (row?.matches(".is-sent")) return;
  const isPlain = /^approve(_sure)?$/.test(button.value) && !form.querySelector("[name=confirmation]");
  const body = new FormData(form, button);
  const what = row?.querySelector(".inbox-what")?.textContent.trim() ?? "";
  row?.classList.add("is-sent");
  row?.classList.remove("is-refused");
  for (const one of form.querySelectorAll("button")) one.disabled = true;
  forget(id);
  if (isPlain) leave(row);
  let answer, html;
  try {
    answer = await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" } });
    html = await answer.text();
  } catch {
    return refused(id, row, form, gettext("the server cannot be reached, so nothing was decided"));
  }
  const shown = answer.headers.get("Content-Type")?.startsWith("text/html") ? html : "";
  if (answer.ok) decided(id, row, shown, what, isPlain);
  else if ([403, 409, 422].includes(answer.status) && shown.includes("approval-")) notTaken(id, row, shown, what);
  else refused(id, row, form, gettext("the server answered %(status)s, so nothing was decided", { status: answer.status }));
}

function leave(row) {
  const next = row && (neighbour(row, 1) ?? neighbour(row, -1, { around: true }));
  if (next) select(next);
  else showEmpty();
}

function decided(id, row, html, what, wasLeft) {
  const card = new DOMParser().parseFromString(html, "text/html").querySelector(".card");
  if (row) row.dataset.status = card?.dataset.status ?? "decided";
  row?.classList.remove("is-sent");
  tell(card?.dataset.words ?? gettext("decided"), what, id);
  if (card?.dataset.status === "deciding") offerToTakeBack(id);
  else last = null;
  keep(id, html);
  if (!wasLeft && shownId() === id) leave(row);
  refreshRows([id]);
  document.dispatchEvent(new CustomEvent("settled", { detail: id }));
}

// Somebody was faster, a field lacks something, or one may not: the card that came back says so and has what was typed.
function notTaken(id, row, html, what) {
  row?.classList.remove("is-sent");
  row?.classList.add("is-refused");
  keep(id, html);
  last = null; // nor is the decision before it offered beside this one
  tell(gettext("not recorded:"), what, id);
  if (!shownId() || shownId() === id) put(html);
  if (shownId() === id) import("../focus.js").then(({ showWrong }) => showWrong(document.getElementById("card-place")));
  refreshRows([id]);
}

function refused(id, row, form, why) {
  row?.classList.remove("is-sent");
  row?.classList.add("is-refused");
  for (const one of form.querySelectorAll("button")) one.disabled = false;
  const what = row?.querySelector(".inbox-what")?.textContent.trim() ?? gettext("It");
  document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("%(what)s: %(why)s.", { what, why }) }));
}

// Until it takes effect a decision is taken back by a button, or by u.
let last = null;
async function takeBack() {
  const id = last;
  last = null;
  if (!id) return;
  const body = new FormData();
  body.set("csrfmiddlewaretoken", JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"]);
  body.set("place", "inbox");
  let answer;
  try {
    answer = await fetch(`${inbox.dataset.led.replace("ID/led", id)}/withdraw`, { method: "POST", body, headers: { "HX-Request": "true" } });
    keep(id, await answer.text());
    status.textContent = answer.ok ? gettext("undone") : gettext("It is too late to undo it.");
  } catch {
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The server cannot be reached; the decision stands.") }));
    return;
  }
  const row = rowOf(id);
  if (row && answer.ok) row.dataset.status = "pending";
  if (row) select(row);
  refreshRows([id]);
}
// Once it took effect nothing is left to be taken back.
document.addEventListener("placed", () => {
  const row = last && rowOf(last);
  if (!row || row.dataset.status === "deciding") return;
  last = null;
  status.querySelector("button")?.remove();
});
document.addEventListener("keydown", (event) => {
  if (keyOf(event) !== "u" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return;
  takeBack();
});
document.addEventListener("htmx:afterSwap", () => {
  const id = shownId(); // a step on the card: claimed, put off, handed over, taken back
  if (id) { forget(id); refreshRows([id]); }
});

function offerToTakeBack(id) {
  last = id;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "link";
  button.textContent = gettext("Undo (u)");
  button.addEventListener("click", takeBack);
  status.append(" ", button);
}

export function tell(words, what, id) {
  const link = document.createElement("a");
  link.href = `?card=${id}`;
  link.textContent = what;
  link.className = "untrusted";
  status.replaceChildren(`${words} `, link);
}

// The card of what was settled is a click away, and with it the way to take a decision back.
status.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const row = link && rowOf(new URL(link.href).searchParams.get("card"));
  if (!row) return;
  event.preventDefault();
  select(row);
});

