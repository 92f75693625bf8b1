// What was embedded, and the few sums that the choice of axes asks for.
const data = JSON.parse(document.getElementById("data").textContent);

// A message in the language of the page, with what fills its places; a number with its marks, and a true minus sign.
const say = (text, facts = {}) => (data.words[text] ?? text).replace(/\{(\w+)(?::\w+)?\}/g, (_, name) => facts[name]);
const local = (text) => text.replace(".", data.decimal).replace("-", "−");

const column = (name) => {
  const found = data.runs[name];
  if (!found) return null;
  return Array.isArray(found) ? found : (found.decoded ??= found.codes.map((code) => found.values[code]));
};
const runs = [...column("configuration").keys()];
const metrics = new Map(data.metrics.map((metric) => [metric.column, metric]));
const configurations = new Map(data.configurations.map((each) => [each.name, each]));

// Levels that are shown, by factor; a factor that is not there shows all.
const chosen = new Map();
const listeners = [];
const isShown = (name) => [...chosen].every(([factor, level]) => configurations.get(name).factors[factor] === level);
const choose = (factor, level) => {
  if (level === "") chosen.delete(factor);
  else chosen.set(factor, level);
  for (const listener of listeners) listener();
};

// Three digits after the point, or as many as a small number needs to be seen; a true minus sign.
const number = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  let text;
  if (size !== 0 && (size < 0.00005 || size >= 1e6)) text = value.toExponential(2);
  else if (value >= 2 && Number.isInteger(value)) text = value.toLocaleString("en").replaceAll(",", data.thousands);
  else text = value.toFixed(size === 0 || size >= 0.001 ? 3 : 4);
  return Number.isInteger(value) && value >= 2 ? text : local(text);
};
const range = (low, high) => say("{low:form} to {high:form}", { low: number(low), high: number(high) });
const interval = (estimate) =>
  estimate.low === undefined ? "" : range(estimate.low, estimate.high);

// A metric's range; where it has no end, that of its numbers and 0.
const wholeRange = (name) => {
  const [low, high] = metrics.get(name).range;
  const values = low === null || high === null ? column(name).filter((value) => value !== null) : [];
  const ends = [low ?? Math.min(0, ...values), high ?? Math.max(0, ...values)];
  return ends[0] < ends[1] ? ends : undefined;
};

// A number of a metric, or the end of the metric's range that it lies beyond.
const within = (name, value) => {
  const [low, high] = metrics.get(name).range;
  return Math.min(Math.max(value, low ?? -Infinity), high ?? Infinity);
};

// Interval of a mean over the seeds: symmetric on the logit scale of its range; of one with one end, on the log
// scale towards it.
const overSeeds = (name, mean, half) => {
  const [low, high] = metrics.get(name).range;
  if (!half) return [mean, mean];
  if ((low === null && high === null) || (low !== null && mean <= low) || (high !== null && mean >= high)) return [mean - half, mean + half];
  if (low === null) return [mean - half, high - (high - mean) * Math.exp(-half / (high - mean))];
  if (high === null) return [low + (mean - low) * Math.exp(-half / (mean - low)), mean + half];
  const share = (mean - low) / (high - low);
  const [middle, scaled] = [Math.log(share / (1 - share)), half / ((high - low) * share * (1 - share))];
  return [-1, 1].map((side) => low + (high - low) / (1 + Math.exp(-(middle + side * scaled))));
};

// Mean and 95 % interval per configuration: over the seeds, or with one run the metric's own.
const summary = (name) => {
  const [values, low, high] = [column(name), column(`${name}_low`), column(`${name}_high`)];
  const found = new Map();
  for (const run of runs) {
    if (values[run] === null) continue;
    const key = column("configuration")[run];
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(run);
  }
  return new Map([...found].map(([key, members]) => {
    const mean = members.reduce((sum, run) => sum + values[run], 0) / members.length;
    const n = members.length;
    const shown = (value, down, up) => [key, { value: within(name, value), low: within(name, down), high: within(name, up), n }];
    if (n === 1) return shown(mean, low?.[members[0]] ?? mean, high?.[members[0]] ?? mean);
    const squares = members.reduce((sum, run) => sum + (values[run] - mean) ** 2, 0);
    return shown(mean, ...overSeeds(name, mean, data.halves[n] * Math.sqrt(squares / (n - 1))));
  }));
};

// Whether nothing is at least as good on both axes and better on one; larger is better.
const paretoFront = (points) => {
  const order = [...points.keys()].sort((a, b) => points[b][0] - points[a][0] || points[b][1] - points[a][1]);
  const front = points.map(() => false);
  let best = -Infinity;
  for (let at = 0; at < order.length;) {
    let end = at;
    while (end < order.length && points[order[end]][0] === points[order[at]][0]) end += 1;
    const top = points[order[at]][1];
    if (top > best) {
      for (const each of order.slice(at, end)) front[each] = points[each][1] === top;
      best = top;
    }
    at = end;
  }
  return front;
};
const sign = (name) => (metrics.get(name).direction === "higher" ? 1 : -1);

// In how many seeds a configuration is on the front, of those seeds that have both metrics for it.
const frontCounts = (x, y, names) => {
  const [xs, ys] = [column(x), column(y)];
  const counts = new Map([...names].map((name) => [name, [0, 0]]));
  for (const seed of new Set(column("seed"))) {
    const members = runs.filter((run) => column("seed")[run] === seed && xs[run] !== null && ys[run] !== null
      && counts.has(column("configuration")[run]));
    const front = paretoFront(members.map((run) => [sign(x) * xs[run], sign(y) * ys[run]]));
    members.forEach((run, at) => {
      const count = counts.get(column("configuration")[run]);
      count[0] += front[at];
      count[1] += 1;
    });
  }
  return counts;
};
