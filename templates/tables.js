// Sorts every table with a head, and filters and searches the tables of pairs. What was chosen stands in the address,
// behind the table's name, so that it can be sent: #treatment-0-pairs?outcome=worse&sort=-5. Without this script the
// tables are as complete; they only stand still.
"use strict";

const NOTHING = "\u2014";

function value(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace("\u2212", "-").replace(/,(?=\d{3})/g, ""));
  return text === NOTHING || text === "" ? null : Number.isNaN(number) ? text.toLowerCase() : number;
}

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

function sort(table, column, down) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, place) => ({ row, place, key: value(row, column) }));
  rows.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
    return (down ? -1 : 1) * compare(a.key, b.key) || a.place - b.place;
  });
  body.append(...rows.map(({ row }) => row));
  [...table.tHead.rows[0].cells].forEach((head, number) => {
    if (number === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

function sortable(table, changed) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      sort(table, column, head.getAttribute("aria-sort") === "ascending");
      changed();
    });
    head.append(button);
  });
}

function labelled(word, control) {
  const label = document.createElement("label");
  label.append(`${word} `, control);
  return label;
}

function choices(table, field) {
  const known = [...new Set([...table.tBodies[0].rows].map((row) => row.dataset[field]))].filter(Boolean).sort();
  if (known.length < (field === "discarded" ? 1 : 2)) return null;
  const select = document.createElement("select");
  select.append(new Option("all", ""), ...known.map((name) => new Option(name, name)));
  select.name = field;
  return select;
}

function filterable(table) {
  const bar = document.createElement("form");
  const search = Object.assign(document.createElement("input"), { type: "search", name: "q" });
  const count = document.createElement("output");
  const fields = Object.keys(table.tBodies[0].rows[0]?.dataset ?? {});
  const selects = fields.map((field) => choices(table, field)).filter(Boolean);
  bar.className = "filters";
  bar.append(labelled("search", search), ...selects.map((select) => labelled(select.name, select)), count);
  table.closest(".scroll").before(bar);

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word))
        && selects.every((select) => !select.value || row.dataset[select.name] === select.value);
      row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${table.tBodies[0].rows.length} ${table.dataset.unit || "pairs"}`;
  };
  const remember = () => {
    const chosen = new URLSearchParams();
    for (const control of [search, ...selects]) if (control.value) chosen.set(control.name, control.value);
    const head = [...table.tHead.rows[0].cells].findIndex((cell) => cell.hasAttribute("aria-sort"));
    const down = head >= 0 && table.tHead.rows[0].cells[head].getAttribute("aria-sort") === "descending";
    if (head >= 0) chosen.set("sort", `${down ? "-" : ""}${head}`);
    history.replaceState(null, "", `#${table.id}${chosen.size ? `?${chosen}` : ""}`);
  };
  const recall = () => {
    const [name, query] = location.hash.slice(1).split("?");
    if (name !== table.id) return;
    const chosen = new URLSearchParams(query);
    for (const control of [search, ...selects]) control.value = chosen.get(control.name) || "";
    const place = chosen.get("sort");
    if (place && table.tHead.rows[0].cells[Math.abs(place)]) sort(table, Math.abs(place), place.startsWith("-"));
    apply();
    table.closest("details").open = true;
    bar.scrollIntoView();
  };
  bar.addEventListener("input", () => { apply(); remember(); });
  bar.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", recall);
  apply();
  recall();
  return remember;
}

for (const table of document.querySelectorAll("details table")) {
  if (!table.tHead || !table.tBodies.length) continue;
  let changed = () => {};
  sortable(table, () => changed());
  if (table.classList.contains("pairs")) changed = filterable(table);
}
