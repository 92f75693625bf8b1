// Elements, axes, the tooltip: what all pictures share. Texts are set as text, never as markup.
// On a phone, pictures are drawn narrow, so that their letters stay large enough.
const NARROW = innerWidth < 600;
const LONGEST_LABEL = NARROW ? 24 : 34;
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const drawn = (name, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const line = (x1, y1, x2, y2, kind) => drawn("line", { x1, y1, x2, y2, class: kind });
const label = (x, y, text, kind = "label", anchor = "start", longest = 0) => {
  const short = longest && text.length > longest ? `${text.slice(0, longest - 1).trimEnd()}…` : text;
  const made = drawn("text", { x, y, class: kind, "text-anchor": anchor }, short);
  if (short !== text) made.append(drawn("title", {}, text));
  return made;
};
const picture = (width, height, description) => {
  const made = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure", role: "group", "aria-label": description });
  made.style.setProperty("--natural", `${width}px`);
  return made;
};

// From values to pixels with some room at both ends, or over a given range, and round values in between.
const scale = (values, start, end, reach) => {
  let [low, high] = reach ?? [Math.min(...values), Math.max(...values)];
  if (!reach) {
    if (!values.length) [low, high] = [0, 1];
    const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 0.5;
    [low, high] = [low - room, high + room];
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / 5));
  const step = [1, 2, 5, 10].find((factor) => (high - low) / (factor * power) <= 6) * power;
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at <= Math.floor(high / step + 1e-9); at += 1) ticks.push(at * step);
  const place = (value) => start + ((value - low) / (high - low)) * (end - start);
  return { place, ticks, text: (tick) => local(`${+tick.toPrecision(6)}`) };
};

const axisTitle = (name) => `${metrics.get(name).title}${NARROW ? "" : ` (${metrics.get(name).better})`}`;

// Two axes of metrics, each with its better end up or to the right.
const axes = ({ width, height, left = 62, right, top = 30, bottom }, [x, y], [xs, ys], [wide, high]) => {
  const svg = picture(width, height, say("Upwards: {up}. Across: {across}.", { up: axisTitle(y), across: axisTitle(x) }));
  const ends = (name, start, end) => (sign(name) > 0 ? [start, end] : [end, start]);
  const [across, up] = [scale(xs, ...ends(x, left, right), wide), scale(ys, ...ends(y, bottom, top), high)];
  for (const tick of up.ticks) {
    svg.append(line(left, up.place(tick), right, up.place(tick), "grid"), label(left - 7, up.place(tick) + 4, up.text(tick), "tick", "end"));
  }
  for (const tick of across.ticks) svg.append(label(across.place(tick), bottom + 17, across.text(tick), "tick", "middle"));
  svg.append(line(left, bottom, right, bottom, "axis"), label((left + right) / 2, height - 8, `${axisTitle(x)} →`, "label", "middle"),
    label(4, 14, `↑ ${axisTitle(y)}`));
  return { svg, across, up };
};

// Names beside points, each where it hides no other name and no point; those without room have none.
const nameBeside = (svg, points, [width, height]) => {
  const taken = points.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
  for (const [x, y, text] of points) {
    const wide = 6.2 * Math.min(text.length, LONGEST_LABEL);
    const tried = [[x + 9, y + 4, "start"], [x - 9, y + 4, "end"], [x, y - 11, "middle"], [x, y + 20, "middle"], [x + 9, y - 9, "start"],
      [x + 9, y + 17, "start"], [x - 9, y - 9, "end"], [x - 9, y + 17, "end"]];
    for (const [at, down, anchor] of tried) {
      const start = at - { start: 0, middle: wide / 2, end: wide }[anchor];
      const box = [start, down - 11, start + wide, down + 3];
      const free = taken.every(([a, b, c, d]) => box[2] < a || box[0] > c || box[3] < b || box[1] > d);
      if (!free || box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height) continue;
      taken.push(box);
      svg.append(label(at, down, text, "tick", anchor, LONGEST_LABEL));
      break;
    }
  }
};
// Shapes tell levels apart without colour; each around (0, 0).
const SHAPES = [
  "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z", "M-4.6 -4.6H4.6V4.6H-4.6Z", "M0 -6L5.6 4.4H-5.6Z", "M0 -6.2L6.2 0L0 6.2L-6.2 0Z",
  "M0 6L5.6 -4.4H-5.6Z", "M-6 -2H-2V-6H2V-2H6V2H2V6H-2V2H-6Z", "M-6.4 -3H6.4V3H-6.4Z", "M-3 -6.4H3V6.4H-3Z",
];

// On a phone the cells of a row stand one below the other, each with its heading.
const withHeadings = (table) => {
  const heads = [...table.tHead?.rows[0]?.cells ?? []].map((head) => head.innerText.trim());
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => { if (heads[at]) cell.dataset.label = heads[at]; });
  table.classList.add("stack");
  return table;
};
document.querySelectorAll(".scroll table").forEach(withHeadings);

const tip = document.getElementById("tip");
const showTip = (target, lines) => {
  tip.replaceChildren(...lines.map((text, at) => element(at ? "span" : "strong", {}, text)));
  tip.hidden = false;
  const [box, own] = [target.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = Math.min(Math.max(box.left + box.width / 2 - own.width / 2, 6), innerWidth - own.width - 6);
  const above = box.top - own.height - 10;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${(above < 4 ? box.bottom + 10 : above) + scrollY}px`;
};
const hideTip = () => { tip.hidden = true; };
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

// One stop of the tab key for all points; arrows go from point to point.
const asPoints = (points, about) => {
  points.forEach((point, at) => {
    point.setAttribute("tabindex", at ? -1 : 0);
    point.setAttribute("role", "img");
    point.setAttribute("aria-label", about(at).join(", "));
    point.addEventListener("mouseenter", () => showTip(point, about(at)));
    point.addEventListener("focus", () => showTip(point, about(at)));
    point.addEventListener("mouseleave", hideTip);
    point.addEventListener("blur", hideTip);
    point.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const next = points[at + (step ?? 0)];
      if (!step || !next) return;
      event.preventDefault();
      point.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  });
};

const options = (select, groups, value) => {
  for (const [name, entries] of groups) {
    const made = entries.map(([key, text]) => element("option", { value: key }, text));
    if (name) select.append(element("optgroup", { label: name }, ...made));
    else select.append(...made);
  }
  if (value !== undefined) select.value = value;
};
const FAMILIES = { privacy: say("Privacy"), utility: say("Utility"), fidelity: say("Fidelity") };
const metricGroups = (stage) => Object.entries(FAMILIES).map(([family, title]) => [
  title,
  data.metrics.filter((metric) => metric.stage === stage && metric.family === family)
    .map((metric) => [metric.column, metric.title]),
]).filter(([, entries]) => entries.length);
