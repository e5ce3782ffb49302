// Files go off one after the other as they are chosen or dropped, each with its progress.
// Without this file the same form sends them all at once.

const form = document.getElementById("drop");
const input = document.getElementById("files");
const uploads = document.getElementById("uploads");
const limit = Number(form.dataset.limit);
const queue = [];
let busy = false;
let sent = 0;

form.classList.add("live");
input.required = false;
input.addEventListener("change", () => { add(input.files); input.value = ""; });
form.addEventListener("submit", (event) => event.preventDefault());

let depth = 0; // dragenter and dragleave come for every child too
addEventListener("dragenter", (event) => { if (hasFiles(event)) { depth += 1; document.body.classList.add("dropping"); } });
addEventListener("dragleave", (event) => { if (hasFiles(event) && --depth <= 0) endDrag(); });
addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  endDrag();
  add(event.dataTransfer.files);
});
addEventListener("beforeunload", (event) => { if (busy) event.preventDefault(); });

function hasFiles(event) { return [...event.dataTransfer.types].includes("Files"); }
function endDrag() { depth = 0; document.body.classList.remove("dropping"); }

function add(files) {
  for (const file of files) {
    const row = makeRow(file);
    uploads.append(row.element);
    if (file.size > limit) fail(row, `the file has ${bytes(file.size)}, the limit is ${bytes(limit)}; ask an admin to raise COUNTERSIGN_MAX_UPLOAD_BYTES`);
    else queue.push(row);
  }
  next();
}

function makeRow(file) {
  const element = document.createElement("li");
  const name = document.createElement("span");
  name.className = "one-line untrusted";
  name.textContent = file.name;
  const progress = document.createElement("progress");
  progress.max = 1;
  progress.value = 0;
  progress.setAttribute("aria-label", `sent of ${file.name}`);
  const share = document.createElement("span");
  share.className = "quiet small";
  share.textContent = "waits";
  const cancel = button("Cancel");
  element.append(name, progress, share, cancel);
  const row = { file, element, progress, share, request: null };
  cancel.addEventListener("click", () => {
    if (row.request) row.request.abort();
    else { queue.splice(queue.indexOf(row), 1); element.remove(); }
  });
  return row;
}

function next() {
  if (busy) return;
  if (!queue.length) return showListOfImports();
  busy = true;
  send(queue.shift(), () => { busy = false; next(); });
}

// On a page without the list of imports: to the page that has it, once everything is sent and nothing failed.
function showListOfImports() {
  if (sent && !document.getElementById("imports") && !uploads.children.length) location.assign(form.action);
}

function send(row, done) {
  const body = new FormData(form);
  body.delete("file");
  body.append("file", row.file);
  const request = row.request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => {
    row.progress.value = event.loaded / event.total;
    row.share.textContent = event.loaded < event.total ? `${Math.floor(100 * event.loaded / event.total)} %` : "stored …";
  });
  request.addEventListener("load", () => {
    if (request.status === 200) { row.element.remove(); sent += 1; show(request.responseText); }
    else fail(row, reason(request));
    done();
  });
  request.addEventListener("error", () => { fail(row, "the connection broke; nothing was stored, drop the file again"); done(); });
  request.addEventListener("abort", () => { row.element.remove(); done(); });
  request.open("POST", form.action);
  request.setRequestHeader("HX-Request", "true");
  request.send(body);
}

function show(html) {
  if (!document.getElementById("imports")) return;
  htmx.swap("#imports", html, { swapStyle: "outerHTML" });
}

// The server answers a refusal with the list and its sentence on top, or with problem details.
function reason(request) {
  if ((request.getResponseHeader("Content-Type") || "").includes("problem+json")) return JSON.parse(request.responseText).detail;
  const notice = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("[role=alert] span");
  return notice ? notice.textContent : `the server answered ${request.status}; nothing was stored`;
}

function fail(row, why) {
  row.element.className = "failed";
  const text = document.createElement("span");
  text.className = "why is-wrong untrusted";
  text.setAttribute("role", "alert");
  text.textContent = why.startsWith(row.file.name) ? why : `${row.file.name}: ${why}`;
  const close = button("Close");
  close.addEventListener("click", () => row.element.remove());
  row.element.replaceChildren(text, close);
}

function button(text) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "link small";
  made.textContent = text;
  return made;
}

function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, number)) / 3));
  const value = number / 1000 ** step;
  return `${step ? value.toPrecision(3) : value} ${units[step]}`;
}
