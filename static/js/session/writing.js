// Messages while they are written: plain text at the end of the timeline, until the row of their event is above it.

const writing = () => document.getElementById("writing");
const isLoaded = (seq) => Boolean(document.getElementById(`e-${seq}`));
const open = new Map(); // by request: what has come so far, and the seq of its event once that is known
const done = new Set();
const GIVE_UP = 4000; // ms: how much the page shows may leave the row out

// `offset` counts characters of Unicode. After one beyond the end the row is marked until the whole message comes.
export function addText({ request, offset, text }) {
  if (done.has(request)) return;
  const piece = Array.from(text);
  const one = open.get(request) ?? begin(request);
  const known = one.characters.slice(offset, offset + piece.length).join("");
  if (known === text) return;
  if (offset > one.characters.length) return one.row.classList.add("has-gap");
  if (offset < one.characters.length || one.row.matches(".has-gap")) {
    one.characters.length = offset;
    one.row.classList.remove("has-gap");
    one.text.data = one.characters.join("");
  }
  one.characters.push(...piece);
  one.text.appendData(text);
}

function begin(request) {
  const row = document.getElementById("writing-row").content.firstElementChild.cloneNode(true);
  const one = { row, characters: [], text: document.createTextNode(""), seq: null };
  row.querySelector(".plain").append(one.text);
  open.set(request, one);
  writing()?.append(row);
  return one;
}

// An event of the log: a message of the agent is the one begun first; what ends a turn or follows a message ends them all.
export function expectRow(event) {
  if (event.depth) return;
  const waiting = [...open.values()].filter((one) => one.seq === null);
  const ends = ["tool_call", "error", "user_message"].includes(event.kind) || event.data?.status === "interrupted";
  for (const one of event.kind === "agent_message" ? waiting.slice(0, 1) : ends ? waiting : []) {
    one.seq = event.seq;
    setTimeout(() => removeLogged(true), GIVE_UP);
  }
  removeLogged(false);
}

// The text goes in the same frame as its row comes, so that nothing jumps; when `late` also without its row.
function removeLogged(late) {
  for (const [request, one] of open) {
    if (one.seq !== null && (late || isLoaded(one.seq))) {
      one.row.remove();
      open.delete(request);
      done.add(request);
    } else if (!one.row.isConnected) writing()?.append(one.row);
  }
}
document.addEventListener("htmx:afterSwap", () => removeLogged(false));
