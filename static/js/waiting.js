// How many approvals wait: in the title of the page and in the bar, as the server writes it.

import { gettext } from "./words.js";

const MOST = 99;

export function showCount(number) {
  const count = number > MOST ? `${MOST}+` : number;
  document.title = document.title.replace(/( \(\d+\+?\))?$/, count ? ` (${count})` : "");
  const badge = document.querySelector(".nav .badge-place");
  if (badge) badge.innerHTML = count ? `<span class="badge">${count}<span class="hidden"> ${gettext("pending")}</span></span>` : "";
}
