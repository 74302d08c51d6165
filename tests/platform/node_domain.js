// node:domain (https://nodejs.org/api/domain.html).

import domain from "node:domain";
import { EventEmitter } from "node:events";
import process from "node:process";
import { equal, ok, same, test } from "./harness.js";

export { default } from "./harness.js";

/** The error that `run`, called in a domain, brings it. */
async function caught(run) {
  const own = domain.create();
  const { promise, resolve } = Promise.withResolvers();
  own.on("error", (error) => resolve({ own, error, active: process.domain }));
  own.run(run);
  return await promise;
}

test("errors of what a domain starts are its own", async () => {
  const error = new Error("mine");
  const fail = () => { throw error; };
  for (const run of [
    () => setTimeout(fail), () => setImmediate(fail), () => process.nextTick(fail), () => Promise.resolve().then(() => setTimeout(fail)),
    () => process.nextTick(() => setTimeout(fail)),
  ]) {
    const { own, error: got, active } = await caught(run);
    equal(got, error);
    equal(error.domain, own);
    equal(error.domainThrown, true);
    equal(active, undefined);
  }
  equal(process.domain, undefined);
});

test("an emitter's error without a listener goes to its domain", async () => {
  let emitter;
  const { own, error } = await caught(() => {
    emitter = new EventEmitter();
    emitter.emit("error", new Error("mine"));
  });
  equal(emitter.domain, own);
  equal(error.domainEmitter, emitter);
  equal(error.domainThrown, false);
  const added = new EventEmitter();
  own.add(added);
  ok(own.members.includes(added));
  own.remove(added);
  same([own.members.includes(added), added.domain], [false, null]);
});

test("what a listener throws goes to the domain around", async () => {
  const outer = domain.create();
  const inner = domain.create();
  const { promise, resolve } = Promise.withResolvers();
  outer.on("error", resolve);
  inner.on("error", (error) => { throw new Error(`after ${error.message}`); });
  outer.run(() => inner.run(() => setTimeout(() => { throw new Error("first"); })));
  equal((await promise).message, "after first");
});

test("bind and intercept", async () => {
  const own = domain.create();
  const errors = [];
  own.on("error", (error) => errors.push(error.message));
  const bound = own.bind(function (a, b) { return [this, a + b, process.domain === own]; });
  same(bound.call("me", 1, 2).slice(1), [3, true]);
  equal(own.intercept((value) => value)(null, "data"), "data");
  own.intercept(() => ok(false))(new Error("mine"));
  same(errors, ["mine"]);
});

test("enter and exit are a stack", () => {
  const [a, b] = [domain.create(), domain.create()];
  a.enter();
  b.enter();
  equal(process.domain, b);
  equal(domain.active, b);
  a.exit();
  equal(process.domain, undefined);
});
