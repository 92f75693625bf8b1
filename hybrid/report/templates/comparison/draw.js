// Elements, axes, the tooltip: what all pictures share. Texts are set as text, never as markup.
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

// From values to pixels with some room at both ends, and round values in between.
const scale = (values, start, end) => {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (!values.length) [low, high] = [0, 1];
  const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 0.5;
  [low, high] = [low - room, high + room];
  const power = 10 ** Math.floor(Math.log10((high - low) / 5));
  const step = [1, 2, 5, 10].find((factor) => (high - low) / (factor * power) <= 6) * power;
  const ticks = [];
  for (let at = Math.ceil(low / step); at <= Math.floor(high / step); at += 1) ticks.push(at * step);
  const place = (value) => start + ((value - low) / (high - low)) * (end - start);
  return { place, ticks, text: (tick) => `${+tick.toPrecision(6)}`.replace("-", "−") };
};

// Shapes tell levels apart without colour; each around (0, 0).
const SHAPES = [
  "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z", "M-4.6 -4.6H4.6V4.6H-4.6Z", "M0 -6L5.6 4.4H-5.6Z", "M0 -6.2L6.2 0L0 6.2L-6.2 0Z",
  "M0 6L5.6 -4.4H-5.6Z", "M-6 -2H-2V-6H2V-2H6V2H2V6H-2V2H-6Z", "M-6.4 -3H6.4V3H-6.4Z", "M-3 -6.4H3V6.4H-3Z",
];

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
const metricGroups = (stage) => ["privacy", "utility", "fidelity"].map((family) => [
  family[0].toUpperCase() + family.slice(1),
  data.metrics.filter((metric) => metric.stage === stage && metric.family === family)
    .map((metric) => [metric.column, metric.title]),
]).filter(([, entries]) => entries.length);
