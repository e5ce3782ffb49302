// Files that are chosen or dropped go off one after the other, with their progress; folders give all their files.
// What was dropped at once is one batch: the list of imports adds it up. On a page without the form a drop is shown in a
// corner.

import { filesOf, withLogs } from "./folders.js";
import { bytes, corner, failed, lineAbove, sending } from "./rows.js";
import { gettext } from "../words.js";

const form = document.getElementById("drop");
const address = form?.action ?? document.body.dataset.imports;
const limit = Number(document.body.dataset.importLimit);
let uploads = document.getElementById("uploads");
let line = null;
const queue = [];
const count = { all: 0, sent: 0, failed: 0 }; // a file that failed is one of all
let now = null;

if (form) {
  form.classList.add("live");
  for (const input of form.querySelectorAll("input[type=file]")) {
    input.required = false;
    input.addEventListener("change", () => chosen(input));
    if (input.files.length) chosen(input); // before this script was there: on a slow line that takes seconds
  }
  form.addEventListener("submit", (event) => event.preventDefault());
}

addEventListener("beforeunload", (event) => { if (now) event.preventDefault(); });

// What was dropped, as upload.js took it from the drop.
export async function take(dropped) {
  const { files, unread } = await filesOf(dropped);
  prepare();
  for (const name of unread) fail(name, gettext("cannot be read on your machine; nothing of it was sent"));
  if (!files.length && !unread.length) fail(gettext("The folder"), gettext("has no files"));
  add(files);
}

function chosen(input) {
  add([...input.files].map((file) => ({ file, path: file.webkitRelativePath })));
  input.value = "";
}

function prepare() {
  uploads ??= corner(address, () => {
    uploads = line = null;
    count.all = count.sent = count.failed = 0;
  });
  line ??= lineAbove(uploads, stop);
}

function add(files) {
  prepare();
  const batch = randomId();
  for (const { file, path, log } of withLogs(files)) {
    const size = file.size + (log?.size ?? 0);
    if (size > limit) {
      fail(path || file.name, gettext("the file has %(size)s, the limit is %(most)s; ask an admin to raise COUNTERSIGN_MAX_UPLOAD_BYTES", { size: bytes(size), most: bytes(limit) }));
    } else {
      queue.push({ file, path, log, batch });
      count.all += 1;
    }
  }
  next();
}

function next() {
  if (!now && queue.length) send(now = queue.shift());
  else if (!now) showListOfImports();
  tell();
}

// On a page without the list of imports: to the page that has it, once everything is sent and nothing failed.
function showListOfImports() {
  if (count.sent && form && !document.getElementById("imports") && !count.failed) location.assign(address);
}

function send({ file, path, log, batch }) {
  const name = path || file.name;
  const request = new XMLHttpRequest();
  const row = sending(name, () => request.abort());
  const end = () => { row.element.remove(); now = null; next(); };
  uploads.append(row.element);
  request.upload.addEventListener("progress", (event) => row.progress(event.loaded, event.total));
  request.addEventListener("load", () => {
    if (request.getResponseHeader("HX-Redirect")) fail(name, gettext("you are signed out; nothing was stored, sign in and drop the file again"));
    else if (request.status === 200) { count.sent += 1; show(request.responseText); }
    else fail(name, reason(request));
    end();
  });
  request.addEventListener("error", () => {
    fail(name, gettext("the connection was lost; nothing was stored, drop the file again"));
    end();
  });
  request.addEventListener("abort", () => { count.all -= 1; end(); });
  request.open("POST", address);
  request.setRequestHeader("HX-Request", "true");
  if (!form) request.setRequestHeader("X-CSRFToken", JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"]);
  request.send(bodyOf(file, path, log, batch));
}

function bodyOf(file, path, log, batch) {
  const body = form ? new FormData(form) : new FormData();
  body.delete("file");
  body.append("file", file);
  if (log) body.append("log", log);
  body.append("batch", batch);
  body.append("folder", path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  return body;
}

function fail(name, why) {
  count.failed += 1;
  uploads.append(failed(name, why));
}

// "12 of 40 sent · 2 failed", and a way to stop; for one file its row says enough.
function tell() {
  line.hidden = count.all + count.failed < 2 && Boolean(form);
  const parts = [gettext("%(sent)s of %(all)s sent", count)];
  if (count.failed) parts.push(gettext("%(failed)s failed", count));
  line.querySelector("span").textContent = parts.join(" · ");
  line.querySelector("button").hidden = !queue.length;
  const close = document.querySelector(".uploads-corner > button");
  if (close) close.hidden = Boolean(now);
}

function stop() {
  count.all -= queue.length;
  queue.length = 0;
  tell();
}

function show(html) {
  if (document.getElementById("imports")) htmx.swap("#imports", html, { swapStyle: "outerHTML" });
}

// The server answers a refusal with the list and its sentence on top, or with problem details.
function reason(request) {
  if ((request.getResponseHeader("Content-Type") || "").includes("problem+json")) return JSON.parse(request.responseText).detail;
  const notice = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("[role=alert] span");
  return notice ? notice.textContent : gettext("the server answered %(status)s; nothing was stored", request);
}

// Not crypto.randomUUID: a desk in an office without TLS is no secure context, which that function asks for.
function randomId() {
  const digits = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-8$4-");
}
