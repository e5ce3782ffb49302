// Ctrl + Enter (or Cmd) sends what is being typed; Enter alone begins a new line.

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  const field = event.target.closest("textarea[name=text], textarea[name=note]");
  if (!field) return;
  event.preventDefault();
  const button = field.form.querySelector("button.primary") ?? field.form.querySelector("button");
  if (!button.disabled) field.form.requestSubmit(button);
});

// What was sent leaves the field once the server has it; what somebody typed behind it meanwhile stays.
let sent = "";
document.addEventListener("htmx:configRequest", (event) => {
  if (event.target.id === "composer") sent = document.getElementById("say-text").value;
});
document.addEventListener("said", () => {
  const field = document.getElementById("say-text");
  if (field?.value.startsWith(sent)) field.value = field.value.slice(sent.length);
});
