// Parses the text of /metrics, and computes quantiles of histograms (https://prometheus.io/docs/instrumenting/exposition_formats/).

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Names to their samples, each `{ labels, value }`. */
export function parse(text) {
  const names = new Map();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) continue;
    if (!names.has(name)) names.set(name, []);
    names.get(name).push({ labels: parseLabels(labels), value: value === "+Inf" ? Infinity : Number(value) });
  }
  return names;
}

function parseLabels(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(LABEL)) {
    labels[name] = value.replace(/\\(.)/g, (_, sign) => (sign === "n" ? "\n" : sign));
  }
  return labels;
}

/**
 * The quantile in seconds. `buckets` maps upper bounds to counts that include all smaller
 * ones; within a bucket, times are assumed to be spread evenly. `null` for an empty histogram.
 */
export function quantile(buckets, part) {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const all = sorted.at(-1)?.[1] ?? 0;
  if (all === 0) return null;
  let [lower, below] = [0, 0];
  for (const [bound, counted] of sorted) {
    if (counted >= all * part && counted > below) {
      if (bound === Infinity) return lower;
      return lower + (bound - lower) * ((all * part - below) / (counted - below));
    }
    [lower, below] = [bound, counted];
  }
  return lower;
}
