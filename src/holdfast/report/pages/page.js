"use strict";
for (const bar of document.querySelectorAll("[data-filters]")) {
  const items = [...document.querySelectorAll("[data-item]")];
  // What a rule follows from names other rules, which are found as themselves.
  const others = (item) => [...item.querySelectorAll("[data-follows]")].map((told) => told.textContent);
  const own = (item) => others(item).reduce((text, told) => text.replace(told, ""), item.textContent);
  const texts = items.map((item) => own(item).toLowerCase());
  const columns = items.map((item) => (item.dataset.columns || "").split("\n"));
  const chips = [...bar.querySelectorAll("[data-kind]")];
  const search = bar.querySelector("input");
  const column = bar.querySelector("select");
  const count = bar.querySelector(".count");
  const nothing = document.querySelector("[data-nothing]");
  const places = (box) => items.map((_, i) => i).filter((i) => box.contains(items[i]));
  // Boxes that are hidden when nothing in them is shown, and those that fold all but the first rule of an entry.
  const boxes = [...document.querySelectorAll("[data-group], [data-part]")].map((box) => [box, places(box)]);
  const folds = [...document.querySelectorAll("[data-more]")].map((fold) => [fold, places(fold), places(fold.closest("[data-group]"))[0]]);
  let kind = "";
  const state = () => document.querySelector("[data-state-of][aria-pressed=true]")?.dataset.stateOf || "";
  const put = (element, name, value) => {
    if (element[name] !== value) element[name] = value;
  };
  const show = () => {
    const wanted = state();
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = column ? column.value : "";
    const fits = items.map(
      (item, i) =>
        (!kind || item.dataset.kind === kind) &&
        (!wanted || item.dataset.state === wanted) &&
        (!chosen || columns[i].includes(chosen)) &&
        words.every((word) => texts[i].includes(word)),
    );
    items.forEach((item, i) => put(item, "hidden", !fits[i]));
    for (const [box, inside] of boxes) put(box, "hidden", !inside.some((i) => fits[i]));
    for (const [fold, inside, first] of folds) {
      const some = inside.some((i) => fits[i]);
      put(fold, "hidden", !some);
      // What is looked for is not folded away behind a rule that is not shown.
      if (some && !fits[first] && !fold.open) {
        fold.open = true;
        fold.dataset.unfolded = "";
      } else if (fits[first] && "unfolded" in fold.dataset) {
        fold.open = false;
        delete fold.dataset.unfolded;
      }
    }
    const shown = fits.filter(Boolean).length;
    const said = shown === items.length ? "" : `${shown} of ${items.length} ${count.dataset.of}`;
    put(count, "textContent", said);
    if (nothing) put(nothing, "hidden", shown > 0);
  };
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      kind = chip.dataset.kind;
      for (const other of chips) other.setAttribute("aria-pressed", other === chip);
      show();
    });
  }
  search.addEventListener("input", show);
  document.addEventListener("refilter", show);
  if (column) column.addEventListener("change", show);
}
const opened = document.getElementById(location.hash.slice(1));
if (opened && opened.tagName === "DETAILS") opened.open = true;
