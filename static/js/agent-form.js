// More rows for tools than the page came with.

const rows = document.getElementById("policy-rows");
const more = document.getElementById("more-rows");

more.hidden = false;
more.addEventListener("click", () => {
  const row = rows.lastElementChild.cloneNode(true);
  row.querySelector("input").value = "";
  rows.append(row);
  row.querySelector("input").focus();
});
