// The review page. What a person decides is in `decisions`; the set that is saved is made of what was accepted.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const { set } = JSON.parse(byId("review").textContent);
  const tasks = [...document.querySelectorAll(".task")];
  const decisions = tasks.map(() => "");
  let current = 0;
  let unsaved = false;

  // Patterns as lines: "all_of: name", "any_of: /regex/", "at_least 2: name", "partial (names it): name", and
  // "partial (half) 2: name" for a sub-fact of which two patterns are enough.

  // Plain text that would be read as something else stands in double quotes.
  const asText = (text) => (/^(\/.+\/|".*"|\s.*|.*\s|.*\n.*)$/s.test(text) ? JSON.stringify(text) : text);
  const asLine = (key, pattern) => `${key}: ${typeof pattern === "string" ? asText(pattern) : `/${pattern.regex}/`}`;

  function asPattern(value) {
    if (/^\/.+\/$/.test(value)) return { regex: value.slice(1, -1) };
    if (!/^".*"$/.test(value)) return value;
    try {
      return JSON.parse(value);
    } catch {
      throw new Error(`${value} has quotes in it: write \\" for each`);
    }
  }

  function asLines(criterion) {
    const lines = ["all_of", "any_of", "must_not"].flatMap((key) => (criterion[key] ?? []).map((one) => asLine(key, one)));
    const counted = (key, { n, of }) => lines.push(...of.map((one) => asLine(`${key} ${n}`, one)));
    for (const key of ["at_least", "at_most"]) if (criterion[key]) counted(key, criterion[key]);
    for (const [name, group] of Object.entries(criterion.partial ?? {})) {
      if (Array.isArray(group)) lines.push(...group.map((one) => asLine(`partial (${name})`, one)));
      else counted(`partial (${name})`, group);
    }
    return lines.join("\n");
  }

  function addTo(where, key, n, pattern) {
    const counted = (where[key] ??= { n, of: [] });
    if (counted.n !== n) throw new Error(`${key} has two numbers, ${counted.n} and ${n}`);
    counted.of.push(pattern);
  }

  function asPatterns(text) {
    const found = {};
    for (const line of text.split("\n").filter((each) => each.trim())) {
      const match = line.match(/^\s*(?:(all_of|any_of|must_not)|(at_least|at_most) (\d+)|partial \((.+?)\)(?: (\d+))?):\s*(.+?)\s*$/);
      if (!match) throw new Error(`"${line.trim()}" is no pattern: write all_of, any_of, must_not, at_least 2, at_most 2 or partial (name), a colon, and what is looked for`);
      const [, key, limit, n, name, least, value] = match;
      const pattern = asPattern(value);
      if (key) (found[key] ??= []).push(pattern);
      else if (limit) addTo(found, limit, Number(n), pattern);
      else if (least) addTo((found.partial ??= {}), name, Number(least), pattern);
      else ((found.partial ??= {})[name] ??= []).push(pattern);
    }
    if (!found.all_of && !found.any_of && !found.at_least) throw new Error("a criterion needs all_of, any_of or at_least");
    return found;
  }

  // YAML: all texts in double quotes, as JSON has them, which YAML reads too.

  function yaml(value, indent = "") {
    if (Array.isArray(value)) return value.map((one) => `\n${indent}- ${yaml(one, `${indent}  `).trimStart()}`).join("") || " []";
    if (value && typeof value === "object") {
      return Object.entries(value).map(([key, one]) => `\n${indent}${JSON.stringify(key)}: ${yaml(one, `${indent}  `)}`).join("") || " {}";
    }
    return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  // Reading the page.

  function edited(box, task) {
    const criteria = task.criteria.map((criterion, at) => {
      const part = box.querySelector(`.criterion[data-at="${at}"]`);
      const { all_of, any_of, must_not, at_least, at_most, partial, ...rest } = criterion;
      return { ...rest, text: part.querySelector(".fact").value.trim(), ...asPatterns(part.querySelector(".patterns").value) };
    });
    return { ...task, prompt: box.querySelector(".prompt-text").value.trim(), criteria };
  }

  function check(box) {
    let good = box.querySelector(".prompt-text").value.trim() !== "";
    for (const part of box.querySelectorAll(".criterion")) {
      const fault = part.querySelector(".fault");
      fault.textContent = part.querySelector(".fact").value.trim() ? "" : "a criterion needs a fact";
      try {
        asPatterns(part.querySelector(".patterns").value);
      } catch (error) {
        fault.textContent = error.message;
      }
      good &&= !fault.textContent;
    }
    return good;
  }

  function say(text) {
    byId("message").textContent = text;
  }

  function count() {
    const open = decisions.filter((each) => !each).length;
    const accepted = decisions.filter((each) => each === "accept").length;
    byId("count").textContent = `${accepted} accepted, ${decisions.length - open - accepted} dropped, ${open} open`;
  }

  function decide(at, decision) {
    if (decision === "accept" && !check(tasks[at])) return say("Fix what is marked, then accept the task.");
    decisions[at] = decision;
    unsaved = true;
    tasks[at].dataset.decision = decision;
    tasks[at].querySelector(".accept").setAttribute("aria-pressed", String(decision === "accept"));
    tasks[at].querySelector(".drop").setAttribute("aria-pressed", String(decision === "drop"));
    count();
    say("");
  }

  function go(at) {
    current = Math.max(0, Math.min(tasks.length - 1, at));
    tasks[current].focus({ preventScroll: true });
    tasks[current].scrollIntoView({ block: "start" });
  }

  function save() {
    const accepted = decisions.flatMap((each, at) => (each === "accept" ? [at] : []));
    if (!accepted.length) return say("No task is accepted yet.");
    const bad = accepted.find((at) => !check(tasks[at]));
    if (bad !== undefined) {
      go(bad);
      return say("Fix what is marked, then save.");
    }
    const value = { ...set, tasks: accepted.map((at) => edited(tasks[at], set.tasks[at])) };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`# Reviewed by a person.${yaml(value)}\n`], { type: "application/yaml" }));
    link.download = `${set.name}.reviewed.yaml`;
    link.click();
    unsaved = false;
    say(`Saved ${accepted.length} tasks as ${link.download}.`);
  }

  tasks.forEach((box, at) => {
    const task = set.tasks[at];
    box.querySelector(".prompt-text").value = task.prompt;
    box.querySelectorAll(".criterion").forEach((part, number) => {
      part.querySelector(".fact").value = task.criteria[number].text;
      part.querySelector(".patterns").value = asLines(task.criteria[number]);
    });
    box.addEventListener("focusin", () => (current = at));
    box.addEventListener("input", () => (unsaved = true));
    box.querySelector(".accept").addEventListener("click", () => decide(at, "accept"));
    box.querySelector(".drop").addEventListener("click", () => decide(at, "drop"));
  });
  byId("save").addEventListener("click", save);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("textarea")) {
      if (event.key === "Escape") event.target.blur(), go(current);
      return;
    }
    const act = {
      j: () => go(current + 1), k: () => go(current - 1), a: () => decide(current, "accept"),
      d: () => decide(current, "drop"), e: () => tasks[current].querySelector("textarea").focus(), s: save,
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  addEventListener("beforeunload", (event) => unsaved && event.preventDefault());
  count();
})();
