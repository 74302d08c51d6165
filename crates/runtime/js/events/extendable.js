// @ts-check
"use strict";
// The events of service-worker style scripts: FetchEvent, ScheduledEvent and TaskEvent. All extend the life of their request
// by `waitUntil`; fetch and task events are answered by `respondWith`.
// The first `respondWith` counts; it may come after an await, as long as the handler has not settled.

const { TypeError } = require("primordials");
const webidl = require("webidl");
const { Event } = require("dom/event");
const { DOMException } = require("dom/exception");
const { KEY, waitUntil } = require("events/context");
const { environment } = require("environment");

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
    waitUntil(this.#request, promise);
  }

  /** What handlers of modules get as their second argument. */
  get env() {
    if (!(#request in this)) throw new TypeError("Illegal invocation");
    return environment();
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

module.exports = { ExtendableEvent, FetchEvent, ScheduledEvent, TaskEvent, isAnswered, onAnswer };
