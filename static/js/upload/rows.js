// What is shown of an upload: its row while it is sent, the reason when it failed, the line that adds up.

import { gettext } from "../words.js";

export function sending(path, cancel) {
  const element = document.createElement("li");
  const progress = document.createElement("progress");
  progress.max = 1;
  progress.value = 0;
  progress.setAttribute("aria-label", gettext("sent of %(path)s", { path }));
  const share = text("quiet small", "0 %");
  element.append(text("one-line untrusted", path), progress, share, button(gettext("Cancel"), cancel));
  return {
    element,
    progress(loaded, total) {
      progress.value = loaded / total;
      share.textContent = loaded < total ? `${Math.floor(100 * loaded / total)} %` : gettext("storing…");
    },
  };
}

export function failed(path, why) {
  const element = document.createElement("li");
  element.className = "failed";
  const name = path.slice(path.lastIndexOf("/") + 1);
  const reason = text("why is-wrong untrusted", why.startsWith(name) ? why : `${path}: ${why}`);
  reason.setAttribute("role", "alert");
  element.append(reason, button(gettext("Close"), () => element.remove()));
  return element;
}

export function lineAbove(uploads, stop) {
  const line = document.createElement("p");
  line.className = "uploads-line small";
  line.hidden = true;
  line.append(text("", ""), button(gettext("Stop uploading"), stop));
  uploads.before(line);
  return line;
}

// Where there is no form: a box in the corner, with the way to the list. It lies over the page: `close` takes it away.
export function corner(address, close) {
  const box = document.createElement("aside");
  box.className = "uploads-corner";
  box.setAttribute("aria-label", gettext("Files sent to Imports"));
  const list = document.createElement("a");
  list.href = address;
  list.textContent = gettext("Imports");
  const uploads = document.createElement("ul");
  uploads.className = "uploads";
  uploads.setAttribute("aria-live", "polite");
  box.append(uploads, list, button(gettext("Close"), () => { box.remove(); close(); }));
  document.body.append(box);
  return uploads;
}

// As the server writes it (numbers.size).
export function bytes(number) {
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (number >= one * 0.9995) return `${(number / one).toFixed(number >= one * 99.95 ? 0 : 1)} ${unit}`;
  }
  return `${number} B`;
}

function text(kind, words) {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = words;
  return made;
}

function button(words, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "link small";
  made.textContent = words;
  made.addEventListener("click", act);
  return made;
}
