// Rows coloured by what they cost: a button; the key $ presses it (keys.js). The choice stays in this browser.

export function toggle() {
  const on = document.getElementById("panes").classList.toggle("with-heat");
  document.querySelector("[data-heat]").setAttribute("aria-pressed", on);
  try { localStorage.setItem("countersign-heat", on ? "on" : "off"); } catch { /* it holds for this page */ }
}
