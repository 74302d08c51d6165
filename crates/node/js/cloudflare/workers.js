"use strict";
// cloudflare:workers (https://developers.cloudflare.com/workers/runtime-apis/bindings/#importing-env-as-a-global): the environment
// and waitUntil without passing them through every call, and the classes that entries extend.
// Deviations: calls between workers (RPC) need bindings, which Hearth does not have yet: a Durable Object, a workflow or an
// RpcStub can be declared, and making one throws. `exports` is empty.

const { AsyncLocalStorage } = require("async_hooks");
const { environment, markEntrypoint, waitUntil } = binding("workers");

const replaced = new AsyncLocalStorage();

const current = () => replaced.getStore() ?? environment();

/** The environment of the app, or that of withEnv around the call. */
const env = new Proxy(Object.create(null), {
  get: (_, name) => current()[name],
  has: (_, name) => name in current(),
  ownKeys: () => Reflect.ownKeys(current()),
  getOwnPropertyDescriptor(_, name) {
    const found = Reflect.getOwnPropertyDescriptor(current(), name);
    // What the proxy's own target does not have must be configurable.
    return found === undefined ? undefined : { ...found, configurable: true };
  },
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
});

function withEnv(values, f) {
  return replaced.run(values, f);
}

/** A default export that extends it is made anew for each request, with that request's ctx. */
class WorkerEntrypoint {
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }
}
markEntrypoint(WorkerEntrypoint);

function missing(what, instead) {
  return new Error(`cloudflare:workers: ${what} cannot be used in Hearth: ${instead}`);
}

class DurableObject {
  constructor(ctx, env) {
    if (ctx === undefined) {
      throw missing("DurableObject", "there are no bindings to other objects yet; keep state in a database or in the worker's memory");
    }
    this.ctx = ctx;
    this.env = env;
  }
}

class WorkflowEntrypoint {
  constructor() {
    throw missing("WorkflowEntrypoint", "there are no workflows; use `scheduled` or `task` handlers");
  }
}

/** An object that is passed by reference: within one worker all are. */
class RpcTarget {}

class RpcStub {
  constructor() {
    throw missing("RpcStub", "there are no calls between workers yet; use fetch");
  }
}

class RpcPromise {
  constructor() {
    throw missing("RpcPromise", "there are no calls between workers yet; use fetch");
  }
}

class RpcProperty {
  constructor() {
    throw missing("RpcProperty", "there are no calls between workers yet; use fetch");
  }
}

module.exports = {
  DurableObject, RpcPromise, RpcProperty, RpcStub, RpcTarget, WorkerEntrypoint, WorkflowEntrypoint,
  env, exports: Object.freeze(Object.create(null)), waitUntil, withEnv,
};
