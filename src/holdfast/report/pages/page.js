"use strict";
for (const bar of document.querySelectorAll("[data-filters]")) {
  const items = [...document.querySelectorAll("[data-item]")];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const chips = [...bar.querySelectorAll("[data-kind]")];
  const search = bar.querySelector("input");
  const column = bar.querySelector("select");
  const count = bar.querySelector(".count");
  let kind = "";
  const state = () => document.querySelector("[data-state-of][aria-pressed=true]")?.dataset.stateOf || "";
  const show = () => {
    const wanted = state();
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, i) => {
      const fits =
        (!kind || item.dataset.kind === kind) &&
        (!wanted || item.dataset.state === wanted) &&
        (!column || !column.value || (item.dataset.columns || "").split("\n").includes(column.value)) &&
        words.every((word) => texts[i].includes(word));
      item.hidden = !fits;
      shown += fits;
    });
    count.textContent = shown === items.length ? "" : shown + " of " + items.length;
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      kind = chip.dataset.kind;
      chips.forEach((other) => other.classList.toggle("on", other === chip));
      show();
    });
  }
  search.addEventListener("input", show);
  document.addEventListener("refilter", show);
  if (column) column.addEventListener("change", show);
}
const opened = document.getElementById(location.hash.slice(1));
if (opened && opened.tagName === "DETAILS") opened.open = true;
