// How many approvals wait: in the title of the page and in the bar.

export function showCount(count) {
  document.title = document.title.replace(/( \(\d+\))?$/, count ? ` (${count})` : "");
  const badge = document.querySelector(".nav .badge-place");
  if (badge) badge.innerHTML = count ? `<span class="badge">${count}<span class="hidden"> pending</span></span>` : "";
}
