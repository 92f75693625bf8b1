// The thesis' figures: the stages side by side, then one of its factors after the other.
const STAGE_NAMES = {
  original: say("original"), anonymized: say("anonymized"), synthetic: say("synthetic"), baseline: say("generator alone"),
};
for (const place of document.querySelectorAll("[data-stages]")) {
  const { means } = data.stages.find((each) => each.column === place.dataset.stages);
  const rows = Object.entries(means).map(([stage, mean]) => ({
    label: STAGE_NAMES[stage],
    estimate: { value: mean.value, low: mean.low, high: mean.high },
    about: [STAGE_NAMES[stage], number(mean.value), interval(mean)],
  }));
  place.append(forest(rows, say("{title} at each stage", { title: metrics.get(place.dataset.stages).title }), false, wholeRange(place.dataset.stages)));
}
for (const place of document.querySelectorAll("[data-facet]")) {
  const found = data.facets.find((each) => each.column === place.dataset.column);
  const rows = found.main[place.dataset.facet].map((each) => ({
    label: each.level,
    estimate: each.mean && { value: each.mean.value, low: each.mean.low, high: each.mean.high },
    missing: say("not told apart by this plan"),
    text: each.mean && `${number(each.mean.value)}${isFound(each.effect) ? `  ${say("differs")}` : ""}`,
    about: each.mean && [each.level, `${number(each.mean.value)} ${interval(each.mean)}`, say("{n:number} runs", { n: each.runs })],
  }));
  place.append(forest(rows, say("Levels of {factor}: {title}", { title: metrics.get(place.dataset.column).title, factor: place.dataset.facet }), false, wholeRange(place.dataset.column)));
}

// Two metrics against each other: a shape per generator, filled behind the pipeline, a cross for the generator alone.
for (const place of document.querySelectorAll("[data-scatter]")) {
  const [x, y] = [place.dataset.across, place.dataset.scatter];
  const [xs, ys] = [summary(x), summary(y)];
  const names = [...xs.keys()].filter((name) => ys.has(name));
  const generator = (name) => configurations.get(name).facets.generator ?? "";
  const levels = [...new Set(names.map(generator))];
  const points = names.map((name) => ({ x: xs.get(name).value, y: ys.get(name).value, d: SHAPES[levels.indexOf(generator(name)) % SHAPES.length], kind: "shape",
    about: [name, generator(name), `${metrics.get(x).title}: ${number(xs.get(name).value)}`, `${metrics.get(y).title}: ${number(ys.get(name).value)}`] }))
    .concat(baselines(x, y).map((each) => ({ x: each.x, y: each.y, d: "M-5 -5l10 10m0 -10l-10 10", kind: "cross",
      about: [`${say("generator alone")}: ${generator(each.name)}`, `${metrics.get(x).title}: ${number(each.x)}`, `${metrics.get(y).title}: ${number(each.y)}`] })));
  const { svg, across, up } = axes({ width: NARROW ? 370 : 620, height: 380, right: NARROW ? 350 : 600, bottom: 330 }, [x, y],
    [points.map((each) => each.x), points.map((each) => each.y)], [x, y].map(wholeRange));
  const marks = points.map((each) => drawn("g", { transform: `translate(${across.place(each.x)} ${up.place(each.y)})`, class: "point best" },
    drawn("circle", { r: 9, class: "hover" }), drawn("path", { d: each.d, class: each.kind })));
  svg.append(...marks);
  asPoints(marks, (at) => points[at].about);
  const legend = element("ul", { class: "legend" }, ...levels.map((level, at) => element("li", {},
    drawn("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      drawn("g", { class: "point best" }, drawn("path", { d: SHAPES[at % SHAPES.length], class: "shape" }))), level)),
    element("li", {}, drawn("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      drawn("path", { d: "M-5 -5l10 10m0 -10l-10 10", class: "cross" })), say("generator alone")));
  place.append(svg, legend);
}
