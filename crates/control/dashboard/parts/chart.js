// One or two lines over the last five minutes, drawn as SVG. The values are also given as text: the newest in the legend
// and the label, and those under the pointer.

import { el, setText, svg } from "./dom.js";
import { clock } from "./format.js";

const [WIDTH, HEIGHT] = [600, 120];
const SPAN = 5 * 60_000;
/** Longer gaps between samples are not bridged by a line. */
const GAP = 15_000;
const CLASSES = ["first", "second"];

/** `series` are `{ name, of }`, where `of` takes the value out of a sample; `format` shows a value. */
export function chart({ label, series, format }) {
  const lines = series.map((_, at) => svg("path", { class: CLASSES[at] }));
  const area = svg("path", { class: "area" });
  const cursor = svg("path", { class: "cursor" });
  const grid = [0, 0.5, 1].map((part) => svg("path", { class: "grid", d: `M0 ${HEIGHT * part}H${WIDTH}` }));
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    ...grid,
    area,
    ...lines,
    cursor,
  );
  const top = el("span", { class: "chart-top", "aria-hidden": "true" });
  const keys = series.map((_, at) => el("span", { class: `key ${CLASSES[at]}` }));
  const from = el("span", {}, "5 min ago");
  const head = el("div", { class: "head" }, el("h2", {}, label), el("div", { class: "legend" }, keys));
  const foot = el("div", { class: "chart-foot", "aria-hidden": "true" }, from, el("span", {}, "now"));
  const box = el("div", { class: "chart" }, picture, top);
  const element = el("section", { class: "panel", "aria-label": label }, head, el("div", {}, box, foot));

  let samples = [];
  let pointed = null;

  const legend = () => {
    const sample = pointed ?? samples.at(-1);
    for (const [at, { name, of }] of series.entries()) {
      setText(keys[at], `${name} ${sample ? format(of(sample)) : ""}`.trim());
    }
    setText(from, pointed ? `at ${clock(pointed.time)}` : "5 min ago");
    const said = series.map(({ name, of }) => `${name} ${samples.length ? format(of(samples.at(-1))) : "not known"}`);
    picture.setAttribute("aria-label", `${label}: ${said.join(", ")}`);
  };

  box.addEventListener("pointermove", (event) => {
    const { left, width } = box.getBoundingClientRect();
    const end = samples.at(-1)?.time ?? 0;
    const time = end - SPAN * (1 - (event.clientX - left) / width);
    const near = (a, b) => (Math.abs(b.time - time) < Math.abs(a.time - time) ? b : a);
    pointed = samples.length ? samples.reduce(near) : null;
    if (pointed) cursor.setAttribute("d", `M${x(pointed.time, end)} 0V${HEIGHT}`);
    legend();
  });
  box.addEventListener("pointerleave", () => {
    pointed = null;
    cursor.setAttribute("d", "");
    legend();
  });

  return {
    element,
    update(list) {
      samples = list;
      const end = samples.at(-1)?.time ?? 0;
      const values = samples.flatMap((sample) => series.map(({ of }) => of(sample))).filter(Number.isFinite);
      const most = ceiling(Math.max(0, ...values));
      setText(top, values.length ? format(most) : "");
      for (const [at, { of }] of series.entries()) {
        const runs = split(samples.filter((sample) => Number.isFinite(of(sample))));
        const points = runs.map((run) => run.map((sample) => [x(sample.time, end), HEIGHT * (1 - of(sample) / most)]));
        lines[at].setAttribute("d", points.map(path).join(""));
        if (at === 0) area.setAttribute("d", points.map(under).join(""));
      }
      legend();
    },
  };
}

function x(time, end) {
  return (WIDTH * (1 - (end - time) / SPAN)).toFixed(1);
}

function path(points) {
  return `M${points.map(([x, y]) => `${x} ${y.toFixed(1)}`).join("L")}`;
}

function under(points) {
  return `${path(points)}V${HEIGHT}H${points[0][0]}Z`;
}

function split(samples) {
  const runs = [];
  for (const sample of samples) {
    const run = runs.at(-1);
    if (run && sample.time - run.at(-1).time <= GAP) run.push(sample);
    else runs.push([sample]);
  }
  return runs;
}

/** The next round number. */
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}
