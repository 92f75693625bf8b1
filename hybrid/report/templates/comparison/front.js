// Means of the generators alone, each once, of the configurations that are shown.
const baselines = (x, y) => {
  const [bx, by] = [x, y].map((name) => name.replace(/^synthetic/, "baseline"));
  if (!metrics.has(bx) || !metrics.has(by)) return [];
  const [xs, ys] = [summary(bx), summary(by)];
  const distinct = new Map();
  for (const [name, at] of xs) {
    if (!ys.has(name) || !isShown(name)) continue;
    const key = `${at.value} ${ys.get(name).value}`;
    if (!distinct.has(key)) distinct.set(key, { x: at.value, y: ys.get(name).value, name });
  }
  return [...distinct.values()];
};
// Privacy against utility: one point per configuration, the front of those that none beats.
const front = document.getElementById("front");
if (front.querySelector("select")) {
  const [xChoice, yChoice, markChoice, axesChoice] = ["x", "y", "mark", "axes"].map((name) => document.getElementById(`front-${name}`));
  const groups = metricGroups("synthetic");
  const first = (family) => data.headlines.find((name) => metrics.get(name).family === family);
  options(xChoice, groups, first("utility") ?? first("fidelity") ?? groups[0][1][0][0]);
  options(yChoice, groups, first("privacy") ?? groups[0][1][0][0]);
  const marks = data.factors.filter((factor) => {
    const levels = new Set(data.configurations.map((each) => each.factors[factor]));
    return levels.size > 1 && levels.size <= SHAPES.length;
  });
  options(markChoice, [["", [["", say("no difference in shape")], ...marks.map((factor) => [factor, factor])]]], marks.at(-1) ?? "");

  const settings = (name) => Object.entries(configurations.get(name).factors).map(([key, level]) => `${key} = ${level}`);
  const read = (name, at) => `${metrics.get(name).title}: ${number(at.value)} (${range(at.low, at.high)})`;

  const draw = () => {
    hideTip();
    const [x, y, mark] = [xChoice.value, yChoice.value, markChoice.value];
    const [xs, ys] = [summary(x), summary(y)];
    const names = [...xs.keys()].filter((name) => ys.has(name) && isShown(name));
    names.sort((a, b) => xs.get(a).value - xs.get(b).value || ys.get(a).value - ys.get(b).value);
    const best = paretoFront(names.map((name) => [sign(x) * xs.get(name).value, sign(y) * ys.get(name).value]));
    const counts = frontCounts(x, y, names);
    const alone = baselines(x, y);
    const spread = (values, key) => names.flatMap((name) => [values.get(name).low, values.get(name).high])
      .concat(alone.map((each) => each[key]));
    const reach = axesChoice.value === "whole" ? [x, y].map(wholeRange) : [];
    const [width, height] = NARROW ? [370, 400] : [900, 470];
    const { svg, across, up } = axes({ width, height, right: width - 20, bottom: height - 50 }, [x, y], [spread(xs, "x"), spread(ys, "y")], reach);
    const onFront = names.filter((_, at) => best[at]);
    const steps = onFront.map((name) => `${across.place(xs.get(name).value)} ${up.place(ys.get(name).value)}`);
    if (steps.length > 1) svg.append(drawn("path", { d: `M${steps.join("L")}`, class: "front" }));
    const levels = mark ? [...new Set(data.configurations.map((each) => each.factors[mark]))] : [];
    const shape = (name) => SHAPES[mark ? levels.indexOf(configurations.get(name).factors[mark]) : 0];
    for (const name of names) {
      const [a, b] = [xs.get(name), ys.get(name)];
      svg.append(line(across.place(a.low), up.place(b.value), across.place(a.high), up.place(b.value), "spread"),
        line(across.place(a.value), up.place(b.low), across.place(a.value), up.place(b.high), "spread"));
    }
    // Points of the front are drawn last, so that nothing hides them; the arrow keys still go from left to right.
    const points = names.map((name, at) => {
      const place = `translate(${across.place(xs.get(name).value)} ${up.place(ys.get(name).value)})`;
      const kind = `point${best[at] ? " best" : ""}${data.recommended === name ? " recommended" : ""}`;
      const point = drawn("g", { transform: place, class: kind, "data-name": name });
      point.append(drawn("circle", { r: 9, class: "hover" }), drawn("path", { d: shape(name), class: "shape" }));
      if (data.recommended === name) point.append(drawn("circle", { r: 10, class: "ring" }));
      return point;
    });
    svg.append(...points.filter((_, at) => !best[at]), ...points.filter((_, at) => best[at]));
    const named = [...names.filter((name) => name === data.recommended), ...onFront, ...names.filter((_, at) => !best[at])];
    nameBeside(svg, [...new Set(named)].map((name) => [across.place(xs.get(name).value), up.place(ys.get(name).value), name]), [width, height]);
    asPoints(points, (at) => {
      const [wins, seeds] = counts.get(names[at]);
      const where = seeds > 1 ? [say("on the front with {n:number} of {m:number} seeds", { n: wins, m: seeds })] : best[at] ? [say("on the front")] : [];
      return [names[at], ...settings(names[at]), read(x, xs.get(names[at])), read(y, ys.get(names[at])), ...where];
    });
    const crosses = alone.map((each) => {
      const d = `M${across.place(each.x) - 5} ${up.place(each.y) - 5}l10 10m0 -10l-10 10`;
      return drawn("path", { d, class: "cross" });
    });
    svg.append(...crosses);
    asPoints(crosses, (at) => {
      const { name, ...each } = alone[at];
      return [say("generator alone, as in {name}", { name }), `${metrics.get(x).title}: ${number(each.x)}`,
        `${metrics.get(y).title}: ${number(each.y)}`];
    });
    front.querySelector(".picture").replaceChildren(svg);
    front.querySelector(".marks").replaceChildren(...levels.map((level, at) => {
      const sample = drawn("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
        drawn("path", { d: SHAPES[at], class: "shape" }));
      return element("li", {}, sample, level);
    }));
    const list = onFront.map((name) => {
      const [wins, seeds] = counts.get(name);
      return seeds > 1 ? `${name} (${wins}/${seeds})` : name;
    });
    front.querySelector("figcaption").textContent = names.length
      ? `${say("On the front:")} ${list.join("; ")}.${data.seeds > 1 ? ` ${say("In brackets: in how many of its seeds it is on the front of that seed.")}` : ""}`
      : say("No run has both metrics.");
  };
  for (const select of [xChoice, yChoice, markChoice, axesChoice]) select.addEventListener("change", draw);
  listeners.push(draw);
  draw();
}
