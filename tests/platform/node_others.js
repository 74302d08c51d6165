// Small modules of Node, and those that throw on use (https://nodejs.org/api/).

import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import cluster from "node:cluster";
import dgram from "node:dgram";
import { channel, subscribe, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import os from "node:os";
import { createHistogram, performance as imported, timerify } from "node:perf_hooks";
import tty from "node:tty";
import { isMainThread, MessageChannel as Channel, Worker } from "node:worker_threads";
import { equal, ok, rejects, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("os tells nothing of the machine", () => {
  equal(os.hostname(), "localhost");
  equal(`${os.EOL}${os.platform()}`, "\nlinux");
  equal(os.constants.signals.SIGTERM, 15);
  ok(os.totalmem() >= os.freemem());
});

test("what cannot be says what to do instead", () => {
  throws(() => spawn("ls"), /child_process\.spawn is not available in Hearth: .+/);
  throws(() => dgram.createSocket("udp4"), /dgram\.createSocket/);
  throws(() => new Worker("x"), /worker_threads\.Worker/);
  throws(() => cluster.fork(), /cluster\.fork/);
  equal(tty.isatty(1), false);
  equal(isMainThread && Channel === MessageChannel, true);
});

test("diagnostics channels", async () => {
  const seen = [];
  const subscriber = (message, name) => seen.push([message, name]);
  subscribe("a", subscriber);
  channel("a").publish(1);
  equal(unsubscribe("a", subscriber), true);
  channel("a").publish(2);
  same(seen, [[1, "a"]]);
  const storage = new AsyncLocalStorage();
  channel("b").bindStore(storage, (value) => value + 1);
  equal(channel("b").runStores(1, () => storage.getStore()), 2);
  const traced = tracingChannel("t");
  const events = [];
  const handlers = {};
  for (const name of ["start", "end", "asyncStart", "asyncEnd", "error"]) handlers[name] = () => events.push(name);
  traced.subscribe(handlers);
  equal(traced.traceSync((value) => value, {}, undefined, 5), 5);
  await rejects(traced.tracePromise(async () => { throw new Error("no"); }), /no/);
  same(events, ["start", "end", "start", "end", "error", "asyncStart", "asyncEnd"]);
});

test("histograms", () => {
  equal(imported, performance);
  const histogram = createHistogram();
  for (let value = 1; value <= 100; value++) histogram.record(value);
  same([histogram.min, histogram.max, histogram.mean, histogram.percentile(50)], [1, 100, 50.5, 50]);
  timerify(() => {}, { histogram })();
  equal(histogram.count, 101);
  throws(() => histogram.record(0), { code: "ERR_OUT_OF_RANGE" });
});
