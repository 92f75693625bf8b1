// Effects of the factors on one metric, and pairs of factors as grids.
const WIDE = ["value", "low", "high", "wide_low", "wide_high"];
const isFound = (estimate) => estimate.wide_low !== undefined && (estimate.wide_low > 0 || estimate.wide_high < 0);
const ends = (estimates) => estimates.flatMap((each) => WIDE.map((key) => each[key])).filter((value) => value !== undefined);

// Rows of points with intervals: thick its own 95 %, thin together with all of the same family. All pictures with the
// same reach share one axis.
const forest = (rows, description, zero, reach) => {
  const known = rows.filter((row) => row.estimate);
  if (!known.length) return element("p", { class: "missing" }, say("The plan does not tell its levels from other settings."));
  const [width, left, beside] = NARROW ? [370, 118, 108] : [560, 190, 170];
  const [step, top, right] = [22, 6, width - beside];
  const svg = picture(width, top + step * rows.length + 22, description);
  const axis = scale(ends(known.map((row) => row.estimate)).concat(zero ? [0] : []), left, right, reach);
  const bottom = top + step * rows.length + 4;
  for (const tick of axis.ticks) {
    svg.append(line(axis.place(tick), top, axis.place(tick), bottom, tick === 0 && zero ? "zero" : "grid"),
      label(axis.place(tick), bottom + 13, axis.text(tick), "tick", "middle"));
  }
  const points = [];
  rows.forEach((row, at) => {
    const y = top + step * at + step / 2;
    svg.append(label(left - 8, y + 4, row.label, "label", "end", NARROW ? 18 : 30));
    if (!row.estimate) {
      svg.append(label(right + 10, y + 4, row.missing ?? "", "tick"));
      return;
    }
    const { value, low, high, wide_low: wideLow, wide_high: wideHigh } = row.estimate;
    if (wideLow !== undefined) svg.append(line(axis.place(wideLow), y, axis.place(wideHigh), y, "thin"));
    if (low !== undefined) svg.append(line(axis.place(low), y, axis.place(high), y, "thick"));
    const point = drawn("g", { transform: `translate(${axis.place(value)} ${y})`, class: `point${isFound(row.estimate) ? " best" : ""}` },
      drawn("circle", { r: 10, class: "hover" }), drawn("path", { d: SHAPES[0], class: "shape" }));
    points.push([point, row]);
    svg.append(point, label(right + 10, y + 4, row.text ?? number(value), "number"));
  });
  asPoints(points.map(([point]) => point), (at) => points[at][1].about);
  return svg;
};

const effectRows = (levels) => levels.map((each) => ({
  label: each.level,
  estimate: each.effect,
  missing: say("not told apart by this plan"),
  text: each.effect && say("mean {value:form}", { value: number(each.mean.value) }) + (isFound(each.effect) ? `  ${say("found")}` : ""),
  about: each.effect && [each.level, `${say("mean {value:form}", { value: number(each.mean.value) })} ${each.mean.low === undefined ? "" : `(${interval(each.mean)})`}`,
    say("{value:form} from the mean of all levels", { value: number(each.effect.value) }),
    ...(each.effect.low === undefined ? [] : [`95 %: ${interval(each.effect)}`,
      `${say("together with all:")} ${range(each.effect.wide_low, each.effect.wide_high)}`]),
    say("{n:number} runs", { n: each.runs })],
}));

const effects = document.getElementById("effects");
if (effects.querySelector("select")) {
  const [metricChoice, pairChoice] = ["metric", "pair"].map((name) => document.getElementById(`effects-${name}`));
  const byColumn = new Map(data.effects.map((each) => [each.column, each]));
  options(metricChoice, metricGroups("synthetic"), data.headlines.find((name) => metrics.get(name).family === "utility")
    ?? data.effects[0].column);

  const grid = (pair) => {
    const [rows, columns] = [0, 1].map((side) => [...new Set(pair.cells.map((cell) => cell.levels[side]))]);
    const found = new Map(pair.cells.map((cell) => [cell.levels.join("\0"), cell]));
    const head = element("tr", {}, element("th", {}, `${pair.factors[0]} \\ ${pair.factors[1]}`),
      ...columns.map((name) => element("th", { class: "n", scope: "col" }, name)));
    const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row), ...columns.map((name) => {
      const cell = found.get(`${row}\0${name}`);
      if (!cell) return element("td", { class: "n" }, "–");
      const text = element("td", { class: `n${isFound(cell) ? " found" : ""}` }, number(cell.value));
      text.append(element("span", { class: "second" }, interval(cell)));
      return text;
    })));
    return withHeadings(element("table", { class: "grid" }, element("thead", {}, head), element("tbody", {}, ...body)));
  };
  const drawPair = () => {
    const pairs = byColumn.get(metricChoice.value).interactions;
    const pair = pairs[pairChoice.value];
    effects.querySelector(".pairs").replaceChildren(
      pair?.cells.length ? grid(pair) : element("p", { class: "missing" }, say("The plan does not tell this pair apart.")));
  };
  const draw = () => {
    hideTip();
    const found = byColumn.get(metricChoice.value);
    const metric = metrics.get(metricChoice.value);
    effects.querySelector(".about").textContent = `${metric.sentence} ${metric.better[0].toUpperCase()}${metric.better.slice(1)}. `
      + say("Configurations: {n:number}, each with this many seeds: {m:number}.", { n: found.configurations, m: found.seeds });
    const largest = Math.max(0, ...ends(Object.values(found.main).flat().map((level) => level.effect).filter(Boolean)).map(Math.abs));
    const reach = largest ? [-1.05 * largest, 1.05 * largest] : null;
    effects.querySelector(".forests").replaceChildren(...Object.entries(found.main).map(([factor, levels]) =>
      element("figure", {}, element("h4", {}, factor), forest(effectRows(levels), say("Levels of {factor}: {title}", { title: metric.title, factor }), true, reach))));
    const size = (pair) => Math.max(0, ...pair.cells.map((cell) => Math.abs(cell.value)));
    const order = found.interactions.map((pair, at) => [at, pair]).sort((a, b) => size(b[1]) - size(a[1]));
    pairChoice.replaceChildren();
    options(pairChoice, [["", order.map(([at, pair]) => {
      const marks = pair.cells.filter(isFound).length;
      return [at, `${pair.factors.join(" × ")}: ${say("up to {value:form}", { value: number(size(pair)) })}${marks ? `, ${say("found in {n:number} cells", { n: marks })}` : ""}`];
    })]]);
    effects.querySelector(".interactions").hidden = !order.length;
    if (order.length) drawPair();
  };
  metricChoice.addEventListener("change", draw);
  pairChoice.addEventListener("change", drawPair);
  draw();
}
