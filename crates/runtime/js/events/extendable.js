// @ts-check
"use strict";
// The events of service-worker style scripts: FetchEvent, ScheduledEvent and TaskEvent, and the `ctx` that handlers of
// modules get. All extend the life of their request by `waitUntil`; fetch and task events are answered by `respondWith`.
// The first `respondWith` counts; it may come after an await, as long as the handler has not settled.

const { PromisePrototypeThen, PromiseResolve, TypeError } = require("primordials");
const { op_wait_until } = require("ops");
const webidl = require("webidl");
const { Event } = require("dom/event");
const { DOMException } = require("dom/exception");

/** Only dispatch has it, so only dispatch can make what apps cannot. */
const KEY = { __proto__: null };

/** Notes a promise as work that the request's life is to be extended for. */
function waitUntil(request, promise, report) {
  op_wait_until(request, 1);
  const settled = () => op_wait_until(request, -1);
  PromisePrototypeThen(PromiseResolve(promise), settled, (error) => {
    // One rejection does not cut off the others.
    settled();
    report(request, error);
  });
}

let report = () => {};

/** main.js says what is done with a rejected promise. */
function setWaitUntilReport(f) {
  report = f;
}

/** The third argument of a module's handler. */
class ExecutionContext {
  #request;

  constructor(key, request) {
    if (key !== KEY) webidl.illegalConstructor();
    this.#request = request;
  }

  waitUntil(promise) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'waitUntil' on 'ExecutionContext'");
    waitUntil(this.#request, promise, report);
  }

  /** There is no origin behind the app to pass the request on to: accepted, and without effect. */
  passThroughOnException() {
    if (!(#request in this)) throw webidl.brandError("passThroughOnException");
  }
}
webidl.configureInterface(ExecutionContext);

/** Not constructible by apps: made by dispatch. */
class ExtendableEvent extends Event {
  #request;
  #answer = undefined;
  #answered = false;
  #onAnswer = undefined;

  constructor(type, key, request) {
    if (key !== KEY) webidl.illegalConstructor();
    super(type, { cancelable: true });
    this.#request = request;
  }

  waitUntil(promise) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'waitUntil' on 'ExtendableEvent'");
    waitUntil(this.#request, promise, report);
  }

  static answer(event, value) {
    if (event.#answered) {
      throw new DOMException("respondWith was called already", "InvalidStateError");
    }
    event.#answered = true;
    event.#answer = value;
    if (event.#onAnswer !== undefined) event.#onAnswer(value);
  }

  /** Calls `f` with the answer, now or when it comes. */
  static onAnswer(event, f) {
    if (event.#answered) f(event.#answer);
    else event.#onAnswer = f;
  }

  static isAnswered(event) {
    return event.#answered;
  }
}
const { answer, onAnswer, isAnswered } = ExtendableEvent;
delete ExtendableEvent.answer;
delete ExtendableEvent.onAnswer;
delete ExtendableEvent.isAnswered;
webidl.configureInterface(ExtendableEvent);

class FetchEvent extends ExtendableEvent {
  #message;

  constructor(key, request, message) {
    super("fetch", key, request);
    this.#message = message;
  }

  get request() {
    return this.#message;
  }

  respondWith(response) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'respondWith' on 'FetchEvent'");
    if (!(#message in this)) throw new TypeError("Illegal invocation");
    answer(this, response);
  }

  passThroughOnException() {}
}
webidl.configureInterface(FetchEvent);

class ScheduledEvent extends ExtendableEvent {
  #time;
  #cron;

  constructor(key, request, time, cron) {
    super("scheduled", key, request);
    this.#time = time;
    this.#cron = cron;
  }

  get scheduledTime() {
    return this.#time;
  }

  get cron() {
    return this.#cron;
  }
}
webidl.configureInterface(ScheduledEvent);

class TaskEvent extends ExtendableEvent {
  #about;

  constructor(key, request, about) {
    super("task", key, request);
    this.#about = about;
  }

  get id() {
    return this.#about.id;
  }

  get payload() {
    return this.#about.payload;
  }

  get attempt() {
    return this.#about.attempt;
  }

  get scheduledTime() {
    return this.#about.scheduledTime;
  }

  respondWith(result) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'respondWith' on 'TaskEvent'");
    if (!(#about in this)) throw new TypeError("Illegal invocation");
    answer(this, result);
  }
}
webidl.configureInterface(TaskEvent);

module.exports = {
  KEY, ExecutionContext, ExtendableEvent, FetchEvent, ScheduledEvent, TaskEvent, isAnswered, onAnswer, setWaitUntilReport,
};
