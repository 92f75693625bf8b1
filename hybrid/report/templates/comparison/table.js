// Every run: sorted, filtered, with the columns one wants.
for (const place of document.querySelectorAll(".filters")) {
  for (const factor of data.factors) {
    const levels = [...new Set(data.configurations.map((each) => each.factors[factor]))];
    if (levels.length < 2) continue;
    const select = element("select", { "data-factor": factor });
    options(select, [["", [["", say("all levels")], ...levels.map((level) => [level, level])]]]);
    select.addEventListener("change", () => choose(factor, select.value));
    listeners.push(() => { select.value = chosen.get(factor) ?? ""; });
    place.append(element("label", {}, `${factor} `, select));
  }
}

const all = document.getElementById("all");
const search = document.getElementById("search");
const known = ["configuration", ...data.factors, "seed", "status", "verdict", "promise"].filter((name) => column(name));
const shownColumns = new Set([...known, ...data.headlines]);
let sorting = { name: "", up: true };

const names = () => [...known, ...data.metrics.map((metric) => metric.column)].filter((name) => shownColumns.has(name));
const cellText = (name, value) => (metrics.has(name) ? number(value) : value);
const matches = (run, words) => {
  const text = [...known, "reason"].map((name) => column(name)?.[run] ?? "").join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
};
const compared = (a, b) => (a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b : `${a}`.localeCompare(`${b}`, "en", { numeric: true }));
const ordered = (found) => {
  if (!sorting.name) return found;
  const values = column(sorting.name);
  const isMissing = (run) => values[run] === null || values[run] === "";
  return [...found].sort((a, b) => {
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b) || a - b;
    return (sorting.up ? 1 : -1) * compared(values[a], values[b]) || a - b;
  });
};

const drawTable = () => {
  const shown = names();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = ordered(runs.filter((run) => isShown(column("configuration")[run]) && matches(run, words)));
  all.tHead.replaceChildren(element("tr", {}, ...shown.map((name) => {
    const metric = metrics.get(name);
    const text = metric ? (metric.stage === "synthetic" ? "" : `${STAGE_NAMES[metric.stage]}: `) + metric.title : name;
    const button = element("button", { type: "button", title: metric ? `${name}: ${metric.sentence} ${metric.better}` : name }, text);
    // Browsers leave buttons out of a heading that is repeated on every printed page.
    const head = element("th", { scope: "col", "data-name": name, ...(metric ? { class: "n" } : {}) }, button,
      element("span", { class: "print-only" }, text));
    if (sorting.name === name) head.setAttribute("aria-sort", sorting.up ? "ascending" : "descending");
    button.addEventListener("click", () => {
      sorting = { name, up: sorting.name === name ? !sorting.up : true };
      drawTable();
      all.tHead.querySelector(`th[data-name="${CSS.escape(name)}"] button`).focus();
    });
    return head;
  })));
  all.tBodies[0].replaceChildren(...found.map((run) => {
    const row = element("tr", column("status")[run] === "ok" ? {} : { class: "failed", title: column("reason")[run] });
    for (const name of shown) {
      const value = column(name)[run];
      const cell = element("td", metrics.has(name) ? { class: "n" } : {}, cellText(name, value));
      const [low, high] = ["low", "high"].map((end) => column(`${name}_${end}`)?.[run] ?? null);
      if (low !== null) cell.title = range(within(name, low), within(name, high));
      row.append(cell);
    }
    return row;
  }));
  withHeadings(all);
  document.getElementById("count").textContent = say("{n:number} of {m:number} runs", { n: found.length, m: runs.length });
};

const chooser = document.getElementById("chooser");
const box = (name, text) => {
  const input = element("input", { type: "checkbox", value: name, ...(shownColumns.has(name) ? { checked: "" } : {}) });
  input.addEventListener("change", () => {
    if (input.checked) shownColumns.add(name);
    else shownColumns.delete(name);
    drawTable();
  });
  return element("label", {}, input, ` ${text}`);
};
chooser.append(element("fieldset", {}, element("legend", {}, say("What was run")), ...known.map((name) => box(name, name))));
for (const stage of ["synthetic", "anonymized", "baseline", "original"]) {
  const found = data.metrics.filter((metric) => metric.stage === stage);
  const boxes = found.map((metric) => box(metric.column, metric.title));
  if (found.length) chooser.append(element("fieldset", {}, element("legend", {}, STAGE_NAMES[stage]), ...boxes));
}
search.addEventListener("input", drawTable);
document.getElementById("reset").addEventListener("click", () => {
  search.value = "";
  sorting = { name: "", up: true };
  chosen.clear();
  for (const listener of listeners) listener();
});
listeners.push(drawTable);
drawTable();
