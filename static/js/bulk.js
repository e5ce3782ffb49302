// What is done with chosen rows of the session list: htmx sends it and puts the answer in place.

const bar = () => document.getElementById("bulk");

// What was said of them is over when others are chosen.
document.addEventListener("change", ({ target }) => {
  if (target.matches("[form=bulk]")) document.getElementById("bulk-said")?.replaceChildren();
});

// The question whether to archive is answered: keys go on where it was asked.
document.addEventListener("click", ({ target }) => {
  const asked = bar()?.contains(target) && target.closest("details button")?.closest("details");
  if (!asked) return;
  asked.open = false;
  asked.querySelector("summary").focus();
});
