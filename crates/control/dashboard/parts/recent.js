// Numbers of the last minute: the server counts since its start, so readings are subtracted from each other. If a counter
// has decreased the server was restarted, and earlier readings are dropped.

import { parse, quantile } from "./prometheus.js";

const WINDOW = 60_000;

export class Recent {
  /** Readings, oldest first: `{ time, apps }`. */
  #readings = [];

  read(text, time) {
    const apps = byApp(parse(text));
    const before = this.#readings.at(-1)?.apps ?? new Map();
    const restarted = [...before].some(([key, app]) => (apps.get(key)?.requests ?? 0) < app.requests);
    if (restarted) this.#readings = [];
    this.#readings.push({ time, apps });
    while (this.#readings.length > 2 && time - this.#readings[1].time >= WINDOW) this.#readings.shift();
  }

  /** Each version of an app that has had a request: `{ app, version, requests, errors, inFlight, rate, p50, p99 }`. */
  apps() {
    const [first, last, seconds] = this.#ends();
    if (!last) return [];
    return [...last.apps].map(([key, now]) => {
      const then = first.apps.get(key);
      const { app, version, requests, errors, inFlight } = now;
      const rate = seconds > 0 ? (requests - (then?.requests ?? 0)) / seconds : NaN;
      return { app, version, requests, errors, inFlight, rate, ...quantiles([difference(now, then)], [now]) };
    });
  }

  /** All apps together: `{ p50, p99, since, errors, errorRate }`, where `since` is `minute` or `start`. */
  total() {
    const [first, last, seconds] = this.#ends();
    if (!last) return { errors: NaN, errorRate: NaN };
    const nows = [...last.apps.values()];
    const grown = [...last.apps].map(([key, now]) => difference(now, first.apps.get(key)));
    const sum = (apps, of) => apps.reduce((all, one) => all + of(one), 0);
    const [errors, before] = [sum(nows, (one) => one.errors), sum([...first.apps.values()], (one) => one.errors)];
    return { ...quantiles(grown, nows), errors, errorRate: seconds > 0 ? (errors - before) / seconds : NaN };
  }

  #ends() {
    const [first, last] = [this.#readings[0], this.#readings.at(-1)];
    return [first, last, last ? (last.time - first.time) / 1000 : 0];
  }
}

function byApp(names) {
  const apps = new Map();
  const of = ({ app, version }) => {
    const key = JSON.stringify([app, version]);
    if (!apps.has(key)) apps.set(key, { app, version, requests: 0, errors: 0, inFlight: 0, buckets: new Map() });
    return apps.get(key);
  };
  for (const { labels, value } of names.get("hearth_requests_total") ?? []) {
    of(labels).requests += value;
    if (Number(labels.status) >= 500) of(labels).errors += value;
  }
  for (const { labels, value } of names.get("hearth_requests_in_flight") ?? []) of(labels).inFlight += value;
  for (const { labels, value } of names.get("hearth_request_seconds_bucket") ?? []) {
    of(labels).buckets.set(labels.le === "+Inf" ? Infinity : Number(labels.le), value);
  }
  return apps;
}

function difference(now, then) {
  const buckets = [...now.buckets].map(([bound, value]) => [bound, value - (then?.buckets.get(bound) ?? 0)]);
  return { buckets: new Map(buckets) };
}

/** Quantiles of the growth, or of all if nothing grew; in milliseconds. */
function quantiles(grown, all) {
  const added = (list) => {
    const sum = new Map();
    for (const { buckets } of list) {
      for (const [bound, value] of buckets) sum.set(bound, (sum.get(bound) ?? 0) + value);
    }
    return sum;
  };
  const minute = added(grown);
  const since = quantile(minute, 0.5) === null ? "start" : "minute";
  const buckets = since === "minute" ? minute : added(all);
  const time = (part) => (quantile(buckets, part) ?? NaN) * 1000;
  return { p50: time(0.5), p99: time(0.99), since };
}
