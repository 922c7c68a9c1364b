"use strict";
// The review: which rules are kept, rejected, renamed. Values of the table are only ever set as text.
const reviewData = document.getElementById("review-data");
if (reviewData) {
  const data = JSON.parse(reviewData.textContent);
  const bar = document.querySelector("[data-review]");
  const items = [...document.querySelectorAll("[data-entry]")];
  // An entry is the box that a rule stands in: rules that say the same, or what is said of one column.
  const boxOf = items.map((item) => item.closest("[data-group]") || item);
  const boxes = new Map();
  boxOf.forEach((box, i) => boxes.set(box, [...(boxes.get(box) || []), i]));
  const together = (i) => boxes.get(boxOf[i]);
  const foldOf = items.map((item) => item.closest("[data-more]"));
  const status = document.querySelector("[data-said]");
  const part = (name) => bar.querySelector(`[data-${name}]`);
  const UNDO_STEPS = 500;
  let state = { decided: {}, undo: [], shortcuts: true };
  let current = -1;
  let kept = true;

  // What the browser keeps ------------------------------------------------------------------------------------------

  const usable = (read) =>
    read && typeof read === "object" && read.decided && typeof read.decided === "object" && Array.isArray(read.undo);
  const load = () => {
    try {
      const read = JSON.parse(localStorage.getItem(data.key));
      if (usable(read)) state = { shortcuts: true, ...read };
    } catch (problem) {
      kept = false;
    }
  };
  const save = () => {
    try {
      localStorage.setItem(data.key, JSON.stringify(state));
    } catch (problem) {
      kept = false;
    }
    part("lost").hidden = kept;
  };

  // Decisions ---------------------------------------------------------------------------------------------------------

  const before = (i) => (data.entries[i].kept ? { state: "kept" } : {});
  const decision = (i) => state.decided[i] || before(i);
  const change = (i, changes, said) => {
    step([i], () => changes);
    show(i);
    tell(typeof said === "function" ? said() : said);
  };
  // Undo takes back a step: all that was decided at once, as [place, what was decided there before].
  const step = (places, changes) => {
    state.undo.push(places.map((i) => [i, state.decided[i] || null]));
    if (state.undo.length > UNDO_STEPS) state.undo.shift();
    for (const i of places) state.decided[i] = { ...decision(i), ...changes(i) };
    save();
  };
  const undo = () => {
    if (!state.undo.length) return tell("There is nothing to undo.");
    const changes = state.undo.pop();
    for (const [i, was] of changes) {
      if (was === null) delete state.decided[i];
      else state.decided[i] = was;
    }
    save();
    showSome(changes.map(([i]) => i));
    refilter();
    const places = changes.map(([i]) => i);
    focus(places.find(visible) ?? places[0]);
    tell(places.length > 1 ? `Undone: ${places.length} decisions. ${progress()}` : `Undone: ${data.entries[places[0]].rule}.`);
  };
  const keepOpen = (section) => {
    const open = items.map((_, i) => i).filter((i) => section.contains(items[i]) && !items[i].hidden && !decision(i).state);
    if (!open.length) return tell("Nothing is left to keep here.");
    step(open, () => ({ state: "kept" }));
    showSome(open);
    refilter();
    tell(`Kept: ${open.length} rules. ${progress()}`);
  };
  const WORDS = { kept: "Kept", rejected: "Rejected", "": "No longer decided" };
  const decide = (i, wanted, advance) => {
    const now = decision(i).state || "";
    const next = !advance && now === wanted ? "" : wanted;
    if (now !== next) change(i, { state: next }, () => `${WORDS[next]}: ${data.entries[i].rule}. ${progress()}`);
    goOn(i, nextVisible(i, 1), advance);
  };
  // A decision on all rules of the entry of a rule, also on those that are folded or not shown now.
  const decideAll = (i, wanted, advance) => {
    const places = together(i);
    const all = places.every((j) => decision(j).state === wanted);
    const next = !advance && all ? "" : wanted;
    const changed = places.filter((j) => (decision(j).state || "") !== next);
    if (changed.length) {
      step(changed, () => ({ state: next }));
      showSome(changed);
      const what = places.length > 1 ? `${boxOf[i].dataset.group}, ${places.length} rules` : data.entries[i].rule;
      tell(`${WORDS[next]}: ${what}. ${progress()}`);
    }
    goOn(i, nextEntry(i, 1), advance);
  };
  const goOn = (i, following, advance) => {
    refilter();
    if (advance || !visible(i)) focus(following < 0 ? i : following);
  };
  // What is said after each step is short; the bar has both counts.
  const progress = () => {
    const done = data.entries.filter((_, i) => decision(i).state).length;
    return `${done} of ${items.length} decided.`;
  };

  // What is shown -----------------------------------------------------------------------------------------------------

  const tell = (said) => {
    status.textContent = said;
  };
  const counts = () => {
    const states = data.entries.map((_, i) => decision(i).state || "open");
    const count = (wanted) => states.filter((one) => one === wanted).length;
    const done = states.length - count("open");
    const open = new Set(boxOf.filter((_, i) => states[i] === "open"));
    const folded = boxes.size < items.length;
    const entries = folded ? `${boxes.size - open.size} of ${boxes.size} entries, ` : "";
    part("done").textContent = `${entries}${done} of ${states.length}${folded ? " rules" : ""} decided`;
    const meter = part("meter");
    meter.max = Math.max(states.length, 1);
    meter.value = done;
    for (const chip of document.querySelectorAll("[data-state-of]")) {
      const wanted = chip.dataset.stateOf;
      chip.querySelector("b").textContent = wanted ? count(wanted) : states.length;
    }
    part("all-done").hidden = open.size > 0;
    part("undo").disabled = !state.undo.length;
    part("rules").disabled = !count("kept");
    part("decisions").disabled = !done && !data.rejected.length;
  };
  const show = (i, anew = false) => {
    const item = items[i];
    const now = decision(i);
    item.dataset.state = now.state || "open";
    item.querySelector("[data-keep]").setAttribute("aria-pressed", now.state === "kept");
    item.querySelector("[data-reject]").setAttribute("aria-pressed", now.state === "rejected");
    const name = item.querySelector("[data-named]");
    name.textContent = now.name && now.name !== data.entries[i].name ? now.name : "";
    const terms = item.querySelector("[data-terms]");
    if (terms.dataset.made) {
      if (anew) fillTerms(i);
      terms.querySelector("[data-why]").hidden = now.state !== "rejected";
    }
    if (batch) return;
    showEntry(i);
    counts();
  };
  // What is decided on the entry of a rule as a whole, where it has buttons for that.
  const showEntry = (i) => {
    const places = together(i);
    if (places.length < 2) return;
    const states = places.map((j) => decision(j).state);
    for (const [name, wanted] of [["keep", "kept"], ["reject", "rejected"]]) {
      const button = boxOf[i].querySelector(`[data-${name}-all]`);
      if (button) button.setAttribute("aria-pressed", states.every((one) => one === wanted));
    }
    const left = boxOf[i].querySelector("[data-left]");
    const open = places.filter((j) => foldOf[j] && !decision(j).state).length;
    if (left) left.textContent = open ? `${open} to decide` : "decided";
  };
  let batch = false;
  const refilter = () => document.dispatchEvent(new CustomEvent("refilter"));

  // Going from rule to rule -------------------------------------------------------------------------------------------

  const visible = (i) => !items[i].hidden && (!foldOf[i] || foldOf[i].open);
  const nextVisible = (from, step) => {
    for (let i = from + step; i >= 0 && i < items.length; i += step) if (visible(i)) return i;
    return -1;
  };
  // The first rule that is shown of the next entry, or of the one before.
  const nextEntry = (from, step) => {
    let i = from;
    while (i >= 0 && boxOf[i] === boxOf[from]) i = nextVisible(i, step);
    return i < 0 ? i : together(i).find(visible);
  };
  const mark = (i) => {
    if (current >= 0) items[current].classList.remove("current");
    current = i;
    items[i].classList.add("current");
  };
  const focus = (i) => {
    mark(i);
    if (foldOf[i] && !items[i].hidden) foldOf[i].open = true;
    items[i].focus({ preventScroll: true });
    items[i].scrollIntoView({ block: "nearest" });
  };
  const move = (step, next = nextVisible) => {
    const target = current < 0 ? nextVisible(step < 0 ? items.length : -1, step) : next(current, step);
    if (target >= 0) focus(target);
    else tell(step > 0 ? "That was the last rule." : "That was the first rule.");
  };

  // Elements ----------------------------------------------------------------------------------------------------------

  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== null) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const example = (one) => {
    const box = element("div", null, { class: "example" });
    const pair = one.rows.length > 1;
    box.append(element("p", one.keeps ? (pair ? "These two rows keep it" : "This row keeps it")
      : pair ? "These two rows break it" : "This row breaks it", { class: one.keeps ? "keeps" : "breaks" }));
    const table = element("table", null, { class: "list" });
    const head = table.createTHead().insertRow();
    const numbered = one.rows.some((row) => row.row !== null);
    if (numbered) head.append(element("th", "row", { scope: "col" }));
    for (const column of one.columns) head.append(element("th", column, { scope: "col" }));
    const body = table.createTBody();
    for (const row of one.rows) {
      const line = body.insertRow();
      if (numbered) line.append(element("th", row.row, { scope: "row" }));
      for (const value of row.values) line.append(element("td", value));
    }
    const scroll = element("div", null, { class: "scroll" });
    scroll.append(table);
    box.append(scroll);
    return box;
  };
  const fillExamples = (i) => {
    const place = items[i].querySelector("[data-examples]");
    if (!place || place.dataset.made) return;
    place.dataset.made = "1";
    const examples = data.entries[i].examples || [];
    for (const one of examples) place.append(example(one));
    if (!examples.length) {
      place.append(element("p", "None among the rows that were looked at.", { class: "dim" }));
    }
  };

  // Names and terms ---------------------------------------------------------------------------------------------------

  const ALLOWANCE = /^\s*(\d+|(\d+(\.\d*)?|\.\d+)\s*%)\s*$/;
  const isAllowance = (text) => ALLOWANCE.test(text) && !(text.includes("%") && parseFloat(text) > 100);
  const takenBy = (i, name) =>
    data.entries.findIndex((entry, j) => j !== i && decision(j).state === "kept" && nameOf(j) === name);
  const nameOf = (i) => decision(i).name || data.entries[i].name;
  const problemOf = (i, field, value) => {
    if (field === "allow" && value && !isAllowance(value)) return "A number such as 10, or a share such as 0.1%.";
    if (field === "name" && value && takenBy(i, value) >= 0) return "Another kept rule has this name.";
    return "";
  };
  const fillTerms = (i) => {
    const place = items[i].querySelector("[data-terms]");
    place.dataset.made = "1";
    place.replaceChildren();
    const entry = data.entries[i];
    const now = decision(i);
    const asFound = entry.allow_pairs ? `${entry.allow_pairs} of the pairs` : entry.allow ? `${entry.allow} of the rows` : "0";
    const line = (field, label, input, hint) => {
      const id = `${field}-${i}`;
      const box = element("div", null, { class: "field" });
      input.id = id;
      box.append(element("label", label, { for: id }), input);
      if (hint) box.append(element("span", hint, { class: "dim", id: `${id}-hint` }));
      const wrong = element("span", "", { class: "wrong", id: `${id}-wrong`, role: "alert" });
      box.append(wrong);
      if (hint) input.setAttribute("aria-describedby", `${id}-hint ${id}-wrong`);
      else input.setAttribute("aria-describedby", `${id}-wrong`);
      input.addEventListener("change", () => {
        const value = input.value.trim();
        const problem = problemOf(i, field, value);
        input.setAttribute("aria-invalid", problem !== "");
        wrong.textContent = problem;
        if (!problem && value !== (decision(i)[field] || "")) change(i, { [field]: value }, `Noted: ${label} ${value || "as found"}.`);
      });
      place.append(box);
      return box;
    };
    line("name", "Name", element("input", null, { type: "text", placeholder: entry.name, spellcheck: "false" })).querySelector(
      "input",
    ).value = now.name || "";
    const severity = element("select", null);
    for (const [value, said] of [["error", "error: the check fails"], ["warn", "warn: a warning only"]]) {
      severity.append(element("option", said, { value }));
    }
    severity.value = now.severity || entry.severity || "error";
    line("severity", "Severity", severity);
    const allow = element("input", null, { type: "text", inputmode: "decimal", placeholder: asFound });
    allow.value = now.allow || "";
    line("allow", "Allowance", allow, "Suspect rows that are tolerated: 10, or 0.1%");
    const why = element("input", null, { type: "text" });
    why.value = now.why || "";
    const box = line("why", "Why rejected", why);
    box.dataset.why = "";
    box.hidden = now.state !== "rejected";
  };

  // Files -------------------------------------------------------------------------------------------------------------

  // YAML in double quotes: what ends a line, or cannot stand in a file, is escaped.
  const quoted = (text) => {
    const escapes = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t" };
    const rare = /["\\\u0000-\u001f\u007f-\u00a0\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
    const escaped = (char) => escapes[char] || "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
    return `"${text.replace(rare, escaped)}"`;
  };
  const amount = (text) => (/^\d+$/.test(text.trim()) ? String(BigInt(text.trim())) : quoted(text.trim()));
  const terms = (i, entry) => {
    const now = decision(i);
    const severity = now.severity || entry.severity || "error";
    const lines = severity === "error" ? [] : [`severity: ${severity}`];
    if (now.allow) lines.push(`allow: ${amount(now.allow)}`);
    else {
      if (entry.allow) lines.push(`allow: ${amount(entry.allow)}`);
      if (entry.allow_pairs) lines.push(`allow_pairs: ${amount(entry.allow_pairs)}`);
    }
    return lines;
  };
  const chosen = (wanted) => data.entries.map((entry, i) => [i, entry]).filter(([i]) => decision(i).state === wanted);
  const uniqueNames = () => {
    const taken = new Set();
    return new Map(
      chosen("kept").map(([i]) => {
        let name = nameOf(i);
        for (let n = 2; taken.has(name); n += 1) name = `${nameOf(i)}-${n}`;
        taken.add(name);
        return [i, name];
      }),
    );
  };
  const listed = (name, entries) =>
    entries.length ? [`${name}:`, ...entries.map((lines) => `- ${lines.join("\n  ")}`)] : [`${name}: []`];
  const rulesFile = () => {
    const names = uniqueNames();
    const rules = chosen("kept").map(([i, entry]) => [
      `name: ${quoted(names.get(i))}`,
      `rule: ${quoted(entry.rule)}`,
      ...terms(i, entry),
      ...(entry.description ? [`description: ${quoted(entry.description)}`] : []),
    ]);
    return ["version: 1", `nulls: ${data.nulls}`, ...listed("rules", rules)].join("\n") + "\n";
  };
  const decisionsFile = () => {
    const names = uniqueNames();
    const keptRules = chosen("kept").map(([i, entry]) => [
      `rule: ${quoted(entry.rule)}`,
      `name: ${quoted(names.get(i))}`,
      ...terms(i, entry),
    ]);
    const now = chosen("rejected").map(([i, entry]) => ({ rule: entry.rule, why: decision(i).why }));
    const rejected = [...data.rejected, ...now].map(({ rule, why }) => [
      `rule: ${quoted(rule)}`,
      ...(why ? [`why: ${quoted(why)}`] : []),
    ]);
    return ["version: 1", ...listed("kept", keptRules), ...listed("rejected", rejected)].join("\n") + "\n";
  };
  const download = (name, text) => {
    const address = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
    const link = element("a", null, { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    tell(`${name} is downloaded.`);
  };

  // What people do ----------------------------------------------------------------------------------------------------

  const itemOf = (target) => (target instanceof Element ? target.closest("[data-entry]") : null);
  document.addEventListener("click", (event) => {
    const item = itemOf(event.target);
    if (!item) return;
    const i = items.indexOf(item);
    mark(i);
    if (event.target.closest("[data-keep]")) decide(i, "kept", false);
    else if (event.target.closest("[data-reject]")) decide(i, "rejected", false);
  });
  for (const [box, [first]] of boxes) {
    box.querySelector("[data-keep-all]")?.addEventListener("click", () => decideAll(first, "kept", false));
    box.querySelector("[data-reject-all]")?.addEventListener("click", () => decideAll(first, "rejected", false));
  }
  document.addEventListener("focusin", (event) => {
    const item = itemOf(event.target);
    if (item) mark(items.indexOf(item));
  });
  for (const [i, item] of items.entries()) {
    for (const box of item.querySelectorAll("details")) {
      box.addEventListener("toggle", () => {
        if (!box.open) return;
        if (box.querySelector("[data-examples]")) fillExamples(i);
        else if (!box.querySelector("[data-terms]").dataset.made) fillTerms(i);
      });
    }
  }
  const open = (i, which) => {
    const box = items[i].querySelector(`[data-${which}]`)?.closest("details");
    if (box) box.open = !box.open;
    return box;
  };
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    y: () => current >= 0 && decide(current, "kept", true),
    n: () => current >= 0 && decide(current, "rejected", true),
    u: undo,
    e: () => current >= 0 && open(current, "examples"),
    r: () => {
      if (current < 0) return;
      const box = items[current].querySelector("[data-terms]").closest("details");
      box.open = true;
      if (!box.querySelector("[data-terms]").dataset.made) fillTerms(current);
      box.querySelector("input").focus();
    },
    v: () => current >= 0 && unfold(current),
    J: () => move(1, nextEntry),
    K: () => move(-1, nextEntry),
    Y: () => current >= 0 && decideAll(current, "kept", true),
    N: () => current >= 0 && decideAll(current, "rejected", true),
    "?": () => toggleHelp(),
  };
  const unfold = (i) => {
    const fold = boxOf[i].querySelector("[data-more]");
    if (!fold || fold.hidden) return tell("This entry has no other rules.");
    fold.open = !fold.open;
    if (!fold.open) focus(together(i)[0]);
    tell(fold.open ? `${together(i).length} rules of ${boxOf[i].dataset.group}.` : "Folded.");
  };
  // With Caps Lock letters come as capitals; what counts is Shift.
  const keyOf = (event) => {
    if (!/^[a-z]$/i.test(event.key)) return event.key;
    return event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
    if (typing) {
      if (event.key === "Escape" && itemOf(event.target)) focus(items.indexOf(itemOf(event.target)));
      return;
    }
    const key = keyOf(event);
    if (!state.shortcuts || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, key)) return;
    event.preventDefault();
    keys[key]();
  });
  const toggleHelp = () => {
    const help = document.querySelector("[data-help]");
    help.hidden = !help.hidden;
    part("keys").setAttribute("aria-expanded", !help.hidden);
  };
  part("undo").addEventListener("click", undo);
  part("keys").addEventListener("click", toggleHelp);
  part("rules").addEventListener("click", () => download("rules.yaml", rulesFile()));
  part("decisions").addEventListener("click", () => download("decisions.yaml", decisionsFile()));
  const shortcuts = document.querySelector("[data-shortcuts]");
  shortcuts.addEventListener("change", () => {
    state.shortcuts = shortcuts.checked;
    save();
  });
  for (const button of document.querySelectorAll("[data-keep-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => keepOpen(document.getElementById(button.dataset.keepOpen)));
  }
  for (const chip of document.querySelectorAll("[data-state-of]")) {
    chip.addEventListener("click", () => {
      for (const other of document.querySelectorAll("[data-state-of]")) {
        other.setAttribute("aria-pressed", other === chip);
      }
      refilter();
    });
  }
  const showSome = (places) => {
    batch = true;
    const shown = [...places];
    for (const i of shown) show(i, true);
    batch = false;
    for (const first of new Set(shown.map((i) => together(i)[0]))) showEntry(first);
    counts();
  };
  const showAll = () => {
    showSome(items.keys());
    shortcuts.checked = state.shortcuts;
    refilter();
  };
  // Another tab with this report has decided something.
  addEventListener("storage", (event) => {
    if (event.key !== data.key || !event.newValue) return;
    load();
    showAll();
  });
  // What is gone to does not stop behind the bar, which stays at the top.
  new ResizeObserver(() => {
    document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 12}px`;
  }).observe(bar);
  load();
  showAll();
  part("lost").hidden = kept;
  document.documentElement.classList.add("reviewing");
}
