// Ctrl + K on every page: go to a page, do what a menu of the page offers, or find an agent or a session by its words.
// desk.js opens it and fetches this: what was typed meanwhile is in the field.

import { gettext } from "./words.js";

const dialog = document.getElementById("palette");
const field = dialog.querySelector("input");
const list = dialog.querySelector("ul");
const said = dialog.querySelector("[role=status]");
const MOST = 8; // sessions that are shown
const MOST_AGENTS = 4;
const PAUSE = 200; // ms without a key, before the server is asked
let chosen = 0;
let asking = null;
let waiting = 0;

// Its button is made here: without a script nothing opens what it closes.
export function openKeys() {
  const keys = document.getElementById("page-keys");
  if (!keys.querySelector("button")) {
    const close = document.createElement("button");
    close.textContent = gettext("Close");
    close.addEventListener("click", () => keys.close());
    keys.append(close);
  }
  keys.showModal();
}

export function begin() {
  for (const one of document.querySelectorAll(".menu [hx-trigger*=wanted]")) htmx.trigger(one, "wanted"); // what a menu fetches itself
  find();
}
document.addEventListener("htmx:afterSwap", ({ target }) => { if (dialog.open && target.closest(".menu")) find(); });

function find() {
  const words = field.value.trim();
  show(places(words));
  clearTimeout(waiting);
  asking?.abort();
  if (words.length > 1) waiting = setTimeout(() => addFound(words), PAUSE);
}
field.addEventListener("input", find);

field.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) choose((chosen + by + list.children.length) % (list.children.length || 1));
  else if (event.key === "Enter") list.children[chosen]?.click();
  else return;
  event.preventDefault();
});
list.addEventListener("click", (event) => event.target.closest("li")?.act());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// A number beside a word is drawn apart from it, and read so.
const wordsOf = (one) => [...one.childNodes].map((part) => part.textContent).join(" ");

// Links and buttons of the bar and of the menus of the page, as they are called there.
function places(words) {
  const letters = words.toLowerCase();
  const all = [...document.querySelectorAll(".nav a, .menu a, .menu button:not(.column-choice *), .s-actions > a, [data-palette]")];
  const named = new Map();
  for (const one of all) {
    const name = (one.dataset.palette || one.getAttribute("aria-label") || wordsOf(one)).replace(/\s+/g, " ").trim();
    if (name && !named.has(name) && name.toLowerCase().includes(letters)) named.set(name, one);
  }
  return [...named].map(([name, one]) => ({ name, kind: one.closest("nav") ? "page" : "action", act: () => take(one) }));
}

// What cannot be undone, and what asks for a word first, is opened where it stands in its menu, and not pressed.
function take(one) {
  dialog.close();
  const asked = [...one.form?.elements ?? []].find((field) => field.matches("input:not([type=hidden]), select, textarea"));
  if (!asked && !one.matches(".danger")) return one.click();
  setTimeout(() => { // when desk.js has closed the menus that were not clicked
    for (let menu = one.closest("details"); menu; menu = menu.parentElement.closest("details")) menu.open = true;
    (one.matches(".danger") ? one : asked).focus();
  });
}

const KINDS = { page: gettext("page"), action: gettext("action"), agent: gettext("agent"), session: gettext("session") };

// Titles that are a prompt in JSON have "\n" for a new line; a harness puts tags around what it says first.
const titleOf = ({ title, id }) => title.replace(/^["\s]*(?=<[a-z_-]+>)/, "").replace(/(\\[nrt]|\s|^<[a-z_-]+>)+/g, " ").trim()
  || gettext("Session %(id)s", { id: id.slice(-6) });

// Who types is within a word: it is looked for as a beginning.
const asTyped = (words) => (/(^|\s)[\p{L}\p{N}_]+$/u.test(words) ? `${words}*` : words);

// None for words that are no search, like one quotation mark: the next key asks again.
async function found(what, words, limit) {
  const answer = await fetch(`/api/v1/${what}?limit=${limit}&q=${encodeURIComponent(words)}`, { signal: asking.signal });
  return answer.ok ? (await answer.json()).items : [];
}

async function addFound(words) {
  asking = new AbortController();
  try {
    const [agents, sessions] = await Promise.all([found("agents", words, MOST_AGENTS), found("sessions", asTyped(words), MOST)]);
    show([
      ...places(words),
      ...agents.map(({ name, slug }) => ({ name, kind: "agent", act: () => location.assign(`/agents/${slug}/`) })),
      ...sessions.map((one) => ({
        name: titleOf(one), kind: "session", act: () => location.assign(`/dashboard/sub-agents/${one.agent.id}/chat/${one.id}`),
      })),
      { name: gettext("Search transcripts for “%(words)s”", { words }), kind: "page", act: () => location.assign(`/search/?q=${encodeURIComponent(words)}`) },
    ], chosen);
  } catch (error) {
    if (error.name !== "AbortError") document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("Agents and sessions cannot be looked for: the server cannot be reached.") }));
  }
}

function show(entries, at = 0) {
  list.replaceChildren(...entries.map(({ name, kind, act }, number) => {
    const row = document.createElement("li");
    row.id = `palette-${number}`;
    row.setAttribute("role", "option");
    row.act = act;
    const text = document.createElement("span");
    text.className = kind === "session" || kind === "agent" ? "one-line untrusted" : "one-line";
    text.textContent = name;
    const what = document.createElement("span");
    what.className = "quiet small";
    what.textContent = KINDS[kind];
    row.append(text, what);
    return row;
  }));
  said.textContent = gettext("%(count)s found", { count: entries.length });
  choose(Math.min(at, Math.max(0, entries.length - 1)));
}

function choose(number) {
  list.children[chosen]?.removeAttribute("aria-selected");
  chosen = number;
  const row = list.children[number];
  row?.setAttribute("aria-selected", "true");
  row?.scrollIntoView({ block: "nearest" });
  if (row) field.setAttribute("aria-activedescendant", row.id);
  else field.removeAttribute("aria-activedescendant");
}
