// @ts-check
"use strict";
// Promises of streams, created at the first access.

const {
  Promise, PromisePrototypeThen, PromiseReject, PromiseResolve, PromiseWithResolvers, markPromiseAsHandled,
} = require("primordials");

/** A promise that has long been fulfilled. Never to be handed to an app, which could tamper with it. */
const FULFILLED = PromiseResolve(undefined);

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/**
 * The promise for what a callback of an app returned, for internal use (what is not an object becomes undefined), where the
 * callback is called once in the life of a stream: as many microtasks as in the spec, since code that runs meanwhile can tell.
 */
function newPromiseOf(value) {
  return isObject(value) ? new Promise((resolve) => resolve(value)) : FULFILLED;
}

/**
 * The same for callbacks that are called for every chunk, and for algorithms of ours: a promise stands for itself, which
 * saves another one and two microtasks.
 */
function promiseOf(value) {
  if (!isObject(value)) return FULFILLED;
  try {
    return PromiseResolve(value);
  } catch (error) {
    return PromiseReject(error); // a getter of the app's
  }
}

/** As many microtasks later as it takes to resolve a promise with that promise, without calling its `then`. */
function delayed(promise) {
  return PromisePrototypeThen(PromisePrototypeThen(promise));
}

/** "Queue a microtask", the task must not throw. */
function queueTask(task) {
  PromisePrototypeThen(FULFILLED, task);
}

const PENDING = 0, RESOLVED = 1, REJECTED = 2;

/**
 * The promise behind `closed` and `ready`: exists after the first access. Fulfilled with undefined or rejected;
 * a rejection counts as handled, as the spec has it for all of these.
 */
class LazyPromise {
  status = PENDING;
  /** @type {any} */
  error = undefined;
  /** @type {any} */
  promise = undefined;
  /** @type {any} */
  resolvers = undefined;
  /** @type {any} */
  waiter = undefined;

  get() {
    if (this.promise === undefined) {
      if (this.status === PENDING) {
        this.resolvers = PromiseWithResolvers();
        this.promise = this.resolvers.promise;
      } else if (this.status === RESOLVED) {
        this.promise = PromiseResolve(undefined);
      } else {
        this.promise = PromiseReject(this.error);
        markPromiseAsHandled(this.promise);
      }
    }
    return this.promise;
  }

  /** Does nothing when it is settled already. */
  resolve() {
    if (this.status !== PENDING) return;
    this.status = RESOLVED;
    if (this.waiter !== undefined) this.wake();
    if (this.resolvers !== undefined) {
      const { resolve } = this.resolvers;
      this.resolvers = undefined;
      resolve(undefined);
    }
  }

  /** Does nothing when it is settled already. */
  reject(error) {
    if (this.status !== PENDING) return;
    this.status = REJECTED;
    this.error = error;
    if (this.waiter !== undefined) this.wake();
    if (this.resolvers !== undefined) {
      const { reject } = this.resolvers;
      this.resolvers = undefined;
      markPromiseAsHandled(this.promise);
      reject(error);
    }
  }

  /** Calls back when it is settled, a microtask later, as a reaction would; one at a time, which must not throw. */
  whenSettled(callback) {
    if (this.status === PENDING) this.waiter = callback;
    else queueTask(callback);
  }

  wake() {
    const callback = this.waiter;
    this.waiter = undefined;
    queueTask(callback);
  }

  /** Another, pending promise takes the place of a settled one. */
  renew() {
    this.status = PENDING;
    this.error = this.promise = this.resolvers = undefined;
  }

  /** Rejects the promise, or, where it is settled already, puts a rejected one in its place. */
  ensureRejected(error) {
    if (this.status !== PENDING) this.renew();
    this.reject(error);
  }
}

module.exports = { FULFILLED, PENDING, RESOLVED, REJECTED, LazyPromise, isObject, promiseOf, newPromiseOf, delayed, queueTask };
