// Rows coloured by what they cost: a button; the key $ presses it (keys.js). The choice stays in this browser.

const KEPT = "countersign-heat";
const button = document.querySelector("[data-heat]");

function toggle() {
  const on = document.getElementById("panes").classList.toggle("with-heat");
  button.setAttribute("aria-pressed", on);
  try { localStorage.setItem(KEPT, on ? "on" : "off"); } catch { /* it holds for this page */ }
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", toggle);
  try { if (localStorage.getItem(KEPT) === "on") toggle(); } catch { /* storage may be forbidden */ }
}
