// Compares two answers of a pair word by word, when somebody asks for it: first line by line, then the words of the
// lines that differ. Without this script the answers stand side by side all the same.
"use strict";

const MOST_CELLS = 4000000; // of a table of two texts; larger ones are shown as replaced

// The longest common part of two lists, as [old, new] runs: same, removed or added.
function changes(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start
    && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const a = before.slice(start, before.length - end), b = after.slice(start, after.length - end);
  const found = before.slice(0, start).map((item) => ["same", item]);
  if ((a.length + 1) * (b.length + 1) > MOST_CELLS) {
    found.push(...a.map((item) => ["removed", item]), ...b.map((item) => ["added", item]));
  } else {
    const width = b.length + 1, longest = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) { found.push(["same", a[i]]); i += 1; j += 1; }
      else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
        found.push(["removed", a[i]]); i += 1;
      } else { found.push(["added", b[j]]); j += 1; }
    }
  }
  found.push(...before.slice(before.length - end).map((item) => ["same", item]));
  return found;
}

const words = (lines) => lines.join("").match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) || [];

// Lines first; where lines were removed and added side by side, their words.
function compared(before, after) {
  const split = (text) => text.match(/[^\n]*\n|[^\n]+/g) || [];
  const found = [];
  let removed = [], added = [];
  const flush = () => {
    if (removed.length && added.length) found.push(...changes(words(removed), words(added)));
    else found.push(...removed.map((line) => ["removed", line]), ...added.map((line) => ["added", line]));
    removed = [];
    added = [];
  };
  for (const [kind, line] of changes(split(before), split(after))) {
    if (kind === "removed") removed.push(line);
    else if (kind === "added") added.push(line);
    else { flush(); found.push(["same", line]); }
  }
  flush();
  return found;
}

function show(place, before, after) {
  const pieces = [];
  for (const [kind, text] of compared(before, after)) {
    if (pieces.length && pieces[pieces.length - 1].kind === kind) pieces[pieces.length - 1].text += text;
    else pieces.push({ kind, text });
  }
  place.replaceChildren(...pieces.map(({ kind, text }) => {
    if (kind === "same") return document.createTextNode(text);
    const mark = document.createElement(kind === "removed" ? "del" : "ins");
    mark.textContent = text;
    return mark;
  }));
}

// The text as it is shown, without the numbers that marks of evidence have.
function textOf(answer) {
  const numbers = answer.querySelectorAll("mark sup");
  numbers.forEach((number) => { number.hidden = true; });
  const text = answer.innerText;
  numbers.forEach((number) => { number.hidden = false; });
  return text;
}

for (const pair of document.querySelectorAll(".columns")) {
  const answers = [...pair.querySelectorAll(":scope > section")]
    .map((section) => ({ name: section.dataset.condition, answer: section.querySelector(".answer") }))
    .filter(({ answer }) => answer);
  for (const { name, answer } of answers.slice(1)) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const text = document.createElement("pre");
    summary.textContent = `What differs between ${answers[0].name} and ${name}, word by word`;
    text.className = "plain words";
    details.append(summary, text);
    details.addEventListener("toggle", () => {
      if (details.open && !text.hasChildNodes()) show(text, textOf(answers[0].answer), textOf(answer));
    });
    pair.before(details);
  }
}
