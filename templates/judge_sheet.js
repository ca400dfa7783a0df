// The judge sheet. All that a person says is in `state`; what is seen of it follows from `paint`.
"use strict";
(() => {
  const MENU = ["Met", "Partial", "Missed"];
  const byId = (id) => document.getElementById(id);
  const { sheet, answers: shown, maxEvidence } = JSON.parse(byId("sheet").textContent);
  const answers = Object.fromEntries(shown.map(({ answer, text }) => [answer, text]));
  const key = () => `judge-sheet:${sheet}:${state.judge}`; // several people may use one browser

  const questions = [...document.querySelectorAll(".question")];
  const items = [...document.querySelectorAll(".item")].map((box) => {
    const section = box.closest(".answer");
    const answer = section.dataset.answer;
    const criterion = Number(box.dataset.criterion);
    const text = box.querySelector("legend").textContent;
    return { box, section, question: box.closest(".question"), answer, criterion, text, id: `${answer} ${criterion}` };
  });
  const byItemId = new Map(items.map((item) => [item.id, item]));

  const fresh = { judge: "", verdicts: {}, unsaved: false, at: 0, plain: false, single: false };
  let state = fresh;
  let past = [];
  let lastTyped = "";

  // Keeping: every change goes to the browser's storage at once, so that a reload loses nothing.

  // A browser may forbid a page its storage: then nothing is stored, and keep() tells the person.
  function stored(storage, name, ...texts) {
    try {
      for (const text of texts) window[storage].setItem(name, text);
      return window[storage].getItem(name);
    } catch {
      return null;
    }
  }

  function keep() {
    if (!state.judge || stored("localStorage", key(), JSON.stringify(state)) !== null) return;
    byId("banner").textContent = "This browser stores nothing for this page. Save your verdicts often.";
    byId("banner").hidden = false;
  }

  function recall() {
    state = { ...state, ...JSON.parse(stored("localStorage", key())) };
  }

  // What another tab with the same sheet has kept meanwhile; this one's place on the page stays.
  function adopt() {
    const { at } = state;
    recall();
    state.at = at;
  }

  function follow() {
    adopt();
    paintAll();
  }

  const given = (item) => state.verdicts[item.id] ?? { verdict: "", evidence: "", note: "" };
  const isOpen = (item) => !given(item).verdict;

  function change(item, part, typing = false) {
    adopt();
    const field = typing ? `${item.id} ${Object.keys(part)}` : "";
    if (!field || field !== lastTyped) past.push(state.verdicts);
    lastTyped = field;
    state = { ...state, unsaved: true, verdicts: { ...state.verdicts, [item.id]: { ...given(item), ...part } } };
    keep();
    paint(item);
    count();
    if (!typing) mark(items[state.at]);
  }

  function undo() {
    if (!past.length) return say("There is nothing to undo.");
    const before = past.pop();
    const changed = items.find((item) => before[item.id] !== state.verdicts[item.id]);
    state = { ...state, unsaved: true, verdicts: before };
    lastTyped = "";
    keep();
    paintAll();
    if (changed) go(items.indexOf(changed));
    say("Undone.");
  }

  // What is seen.

  function paint(item) {
    const { verdict, evidence, note } = given(item);
    const { box } = item;
    box.dataset.verdict = verdict;
    for (const radio of box.querySelectorAll("[type=radio]")) radio.checked = radio.value === verdict;
    box.querySelector("q").textContent = evidence;
    box.querySelector(".evidence").hidden = !evidence;
    const area = box.querySelector(".note textarea");
    if (area.value !== note) area.value = note;
    area.parentElement.hidden = !note && document.activeElement !== area;
  }

  function count() {
    const done = items.filter((item) => !isOpen(item)).length;
    byId("count").textContent = `${done} of ${items.length}`;
    byId("bar").max = items.length;
    byId("bar").value = done;
  }

  function paintAll() {
    items.forEach(paint);
    count();
    document.body.classList.toggle("single", state.single);
    byId("single").setAttribute("aria-pressed", String(state.single));
    byId("who").textContent = state.judge;
    byId("plain").setAttribute("aria-pressed", String(state.plain));
    for (const box of document.querySelectorAll(".rendered")) box.hidden = state.plain;
    for (const box of document.querySelectorAll(".source")) box.hidden = !state.plain;
  }

  let silence = 0;
  function say(text) {
    byId("message").textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => (byId("message").textContent = ""), 8000);
  }

  function choose(index) {
    state.at = Math.max(0, Math.min(items.length - 1, index));
    const item = items[state.at];
    keep();
    for (const question of questions) question.hidden = question !== item.question;
    for (const other of items) other.box.classList.toggle("current", other === item);
    for (const section of item.question.querySelectorAll(".answer")) {
      section.classList.toggle("shown", section === item.section);
    }
    mark(item);
    return item;
  }

  function go(index) {
    const { box } = choose(index);
    box.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }

  function goOpen() {
    const after = [...items.slice(state.at + 1), ...items.slice(0, state.at + 1)];
    const open = after.find(isOpen);
    if (!open) return say("Nothing is open. Save your verdicts.");
    go(items.indexOf(open));
  }

  function goQuestion(step) {
    const question = questions[questions.indexOf(items[state.at].question) + step];
    if (question) go(items.findIndex((item) => item.question === question));
  }

  // Evidence: pieces of text on the page know their offset in the answer's source (data-p).

  const pieces = (section) => {
    const view = section.querySelector(".text > :not([hidden])");
    return view.dataset.p ? [view] : [...view.querySelectorAll("[data-p]")];
  };

  function lengthBefore(piece, node, offset) {
    const range = document.createRange();
    range.setStart(piece, 0);
    range.setEnd(node, offset);
    return range.toString().length;
  }

  function selected(item) {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return "";
    const range = selection.getRangeAt(0);
    let start = -1;
    let end = -1;
    for (const piece of pieces(item.section)) {
      if (!range.intersectsNode(piece)) continue;
      const first = piece.contains(range.startContainer) ? lengthBefore(piece, range.startContainer, range.startOffset) : 0;
      const last = piece.contains(range.endContainer)
        ? lengthBefore(piece, range.endContainer, range.endOffset)
        : piece.textContent.length;
      if (first >= last) continue;
      if (start < 0) start = Number(piece.dataset.p) + first;
      end = Number(piece.dataset.p) + last;
    }
    return start < 0 ? null : answers[item.answer].slice(start, end).trim();
  }

  function cite(item) {
    const evidence = selected(item);
    if (evidence === "") return type(item);
    if (evidence === null) return say("Select text in the answer of the marked criterion.");
    if (takeEvidence(item, evidence)) getSelection().removeAllRanges();
  }

  function takeEvidence(item, evidence) {
    if (evidence.length > maxEvidence) {
      say(`That is too long: select at most ${maxEvidence} characters.`);
    } else if (!answers[item.answer].includes(evidence)) {
      say("The answer does not have this text, word for word. Copy it from the plain text.");
    } else {
      change(item, { evidence });
      return true;
    }
    return false;
  }

  function type(item) {
    const box = item.box.querySelector(".typed");
    box.hidden = false;
    box.firstElementChild.value = given(item).evidence;
    box.firstElementChild.focus();
  }

  function endTyping(item, area) {
    const evidence = area.value.trim();
    if (evidence === given(item).evidence || takeEvidence(item, evidence)) area.parentElement.hidden = true;
  }

  function mark(item) {
    if (!CSS.highlights) return;
    CSS.highlights.delete("evidence");
    const { evidence } = given(item);
    const start = evidence ? answers[item.answer].indexOf(evidence) : -1;
    if (start < 0) return;
    const ranges = [];
    for (const piece of pieces(item.section)) {
      const from = Math.max(0, start - Number(piece.dataset.p));
      const to = Math.min(piece.textContent.length, start + evidence.length - Number(piece.dataset.p));
      if (from >= to) continue;
      const range = document.createRange();
      range.setStart(piece.firstChild, from);
      range.setEnd(piece.firstChild, to);
      ranges.push(range);
    }
    if (!ranges.length) return;
    CSS.highlights.set("evidence", new Highlight(...ranges));
    const box = item.section.querySelector(".text");
    const seen = box.getBoundingClientRect();
    const place = ranges[0].getBoundingClientRect();
    if (place.top < seen.top || place.bottom > seen.bottom) box.scrollTop += place.top - seen.top - seen.height / 3;
  }

  // Files.

  function save() {
    const verdicts = items.filter((item) => !isOpen(item)).map((item) => {
      const { verdict, evidence, note } = given(item);
      return { answer: item.answer, criterion: item.criterion, text: item.text, verdict, evidence, note };
    });
    const content = JSON.stringify({ schema: 1, sheet, judge: state.judge, verdicts }, null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content, "\n"], { type: "application/json" }));
    link.download = `verdicts-${state.judge}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    state = { ...state, unsaved: false };
    keep();
    const notes = items.filter((item) => isOpen(item) && (given(item).note || given(item).evidence)).length;
    const left = notes ? ` ${notes} with a note or evidence but no verdict are not in it.` : "";
    say(`Saved ${verdicts.length} of ${items.length} verdicts as ${link.download}.${left}`);
  }

  function askName() {
    byId("naming").returnValue = "";
    byId("name").value = "";
    byId("cancel").hidden = !state.judge;
    byId("naming").showModal();
  }

  // What this person has kept in this browser; the tab remembers the person until it is closed.
  function become(judge) {
    state = { ...fresh, judge };
    past = [];
    recall();
    stored("sessionStorage", sheet, judge);
    paintAll();
    choose(state.at);
  }

  const plainName = (name) => {
    const words = name.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
    return [...words.replace(/^-+/, "")].slice(0, 32).join("").replace(/-+$/, "");
  };

  function named() {
    const judge = byId("naming").returnValue === "ok" ? plainName(byId("name").value) : state.judge;
    if (!judge) {
      say("The name needs a letter or a digit.");
      return askName();
    }
    if (judge !== state.judge) become(judge);
  }

  async function load(file) {
    let content;
    try {
      content = JSON.parse(await file.text());
    } catch {
      content = null;
    }
    if (content?.schema !== 1 || !Array.isArray(content.verdicts)) {
      return say(`${file.name} is no verdict file. Nothing was changed.`);
    }
    const taken = {};
    for (const each of content.verdicts) {
      const item = byItemId.get(`${each?.answer} ${each?.criterion}`);
      if (!item || !MENU.includes(each.verdict) || (each.text && each.text !== item.text)) continue;
      const evidence = String(each.evidence ?? "");
      const fits = evidence.length <= maxEvidence && answers[item.answer].includes(evidence);
      taken[item.id] = { verdict: each.verdict, evidence: fits ? evidence : "", note: String(each.note ?? "") };
    }
    const judge = plainName(String(content.judge ?? "")) || state.judge;
    if (judge !== state.judge) become(judge);
    past.push(state.verdicts);
    state = { ...state, unsaved: true, verdicts: { ...state.verdicts, ...taken } };
    keep();
    paintAll();
    mark(items[state.at]);
    const loaded = Object.keys(taken).length;
    const left = content.verdicts.length - loaded;
    say(`Loaded ${loaded} verdicts.${left ? ` ${left} do not belong to this sheet and were skipped.` : ""}`);
  }

  // Keys and buttons.

  function toggle(name) {
    state = { ...state, [name]: !state[name] };
    keep();
    paintAll();
    go(state.at);
  }

  const keys = {
    j: () => go(state.at + 1),
    k: () => go(state.at - 1),
    l: () => goQuestion(1),
    h: () => goQuestion(-1),
    o: goOpen,
    e: () => cite(items[state.at]),
    n: () => annotate(items[state.at]),
    u: undo,
    v: () => toggle("plain"),
    b: () => toggle("single"),
    p: askName,
    s: save,
    "?": () => byId("helping").showModal(),
  };
  MENU.forEach((verdict, index) => (keys[index + 1] = () => change(items[state.at], { verdict })));

  function annotate(item) {
    const area = item.box.querySelector(".note textarea");
    area.parentElement.hidden = false;
    area.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (!state.judge || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("textarea")) {
      if (event.key === "Escape") items[state.at].box.focus();
      return;
    }
    const arrow = { ArrowDown: "j", ArrowUp: "k" }[event.key];
    if (arrow && event.target.matches(".text")) return;
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : keys[arrow];
    if (!act) return;
    event.preventDefault();
    act();
  });

  items.forEach((item, index) => {
    const part = (selector) => item.box.querySelector(selector);
    item.box.addEventListener("focusin", () => index !== state.at && choose(index));
    item.box.addEventListener("change", (event) => {
      if (event.target.type === "radio") change(item, { verdict: event.target.value });
    });
    // A click elsewhere would end the selection that the button is about.
    part(".cite").addEventListener("pointerdown", (event) => event.preventDefault());
    part(".cite").addEventListener("click", () => cite(choose(index)));
    part(".annotate").addEventListener("click", () => annotate(choose(index)));
    part(".drop").addEventListener("click", () => change(item, { evidence: "" }));
    part(".note textarea").addEventListener("input", (event) => change(item, { note: event.target.value }, true));
    part(".note textarea").addEventListener("blur", () => setTimeout(() => paint(item)));
    part(".typed textarea").addEventListener("blur", (event) => endTyping(item, event.target));
  });
  for (const button of document.querySelectorAll(".previous")) button.addEventListener("click", keys.h);
  for (const button of document.querySelectorAll(".next")) button.addEventListener("click", keys.l);
  for (const [id, name] of Object.entries({ open: "o", undo: "u", plain: "v", single: "b", person: "p", save: "s", help: "?" })) {
    byId(id).addEventListener("click", keys[name]);
  }
  byId("naming").addEventListener("close", named);
  byId("load").addEventListener("change", async (event) => {
    if (event.target.files.length) await load(event.target.files[0]);
    event.target.value = "";
  });
  addEventListener("beforeunload", (event) => state.unsaved && event.preventDefault());
  addEventListener("storage", (event) => event.key === key() && follow());
  addEventListener("focus", follow); // a tab in the background may not have been told

  for (const section of document.querySelectorAll(".answer")) {
    section.querySelector(".source").textContent = answers[section.dataset.answer];
  }
  const known = stored("sessionStorage", sheet) ?? "";
  become(known);
  if (!known) askName();
})();
