// Files that are dropped on any page, or chosen in the form of one. What sends them comes with the form, or with the first
// file that is dragged over the page. Without this file the form sends at once.

const queue = () => import("./upload/queue.js");
if (document.getElementById("drop")) queue();

let depth = 0; // dragenter and dragleave come for every child too
addEventListener("dragenter", (event) => {
  if (!hasFiles(event)) return;
  depth += 1;
  document.body.classList.add("dropping");
  queue();
});
addEventListener("dragleave", (event) => { if (hasFiles(event) && --depth <= 0) endDrag(); });
addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
addEventListener("drop", async (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  endDrag();
  const { items, files } = event.dataTransfer; // taken before the first await: the browser empties the drop after it
  const dropped = { entries: [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean), files: [...files] };
  (await queue()).take(dropped);
});

function hasFiles(event) { return [...event.dataTransfer.types].includes("Files"); }
function endDrag() { depth = 0; document.body.classList.remove("dropping"); }
