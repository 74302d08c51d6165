// @ts-check
"use strict";
// scheduler (https://wicg.github.io/scheduling-apis/): postTask and yield, and the `wait` of Workers. No ops of its own.
//
// Deviations: there are no TaskController and TaskSignal, so a task keeps the priority that it was posted with; what follows a
// yield has the priority "user-visible". Tasks belong to the request that posted them and end with it.

const {
  ArrayPrototypePush, ArrayPrototypeShift, FunctionPrototypeCall, Promise, PromisePrototypeThen, PromiseReject, SafeMap,
} = require("primordials");
const webidl = require("webidl");
const { abortReason, addAbortAlgorithm, isAborted, isSignal, removeAbortAlgorithm } = require("dom/abort");
const { registerPlatformClass } = require("platform_classes");
const { currentRequest } = require("request_scope");
const { cancelTimer, startTimer } = require("timers");

const { converters } = webidl;
const TOKEN = { __proto__: null };

const signalMember = { key: "signal", converter: webidl.createInterfaceConverter("AbortSignal", isSignal) };
const convertTaskOptions = webidl.createDictionaryConverter("SchedulerPostTaskOptions", [
  signalMember,
  {
    key: "priority", defaultValue: "user-visible",
    converter: webidl.createEnumConverter("TaskPriority", ["user-blocking", "user-visible", "background"]),
  },
  { key: "delay", converter: converters["unsigned long long"], defaultValue: 0, options: { __proto__: null, enforceRange: true } },
]);
const convertWaitOptions = webidl.createDictionaryConverter("SchedulerWaitOptions", [signalMember]);

/** What follows a yield comes before other tasks of its priority. */
const RANKS = { __proto__: null, "user-blocking": 0, yield: 1, "user-visible": 2, background: 3 };

/** Request to its waiting tasks, one list for each rank. */
const queues = new SafeMap();

/** Queues a function for a turn of its own. Each has a timer, and a timer runs the best that waits then. */
function enqueue(rank, run) {
  const request = currentRequest();
  let lists = queues.get(request);
  if (lists === undefined) queues.set(request, lists = [[], [], [], []]);
  const task = { __proto__: null, run };
  ArrayPrototypePush(lists[rank], task);
  startTimer(() => runNext(request), 0);
  return task;
}

function runNext(request) {
  const lists = queues.get(request);
  if (lists === undefined) return;
  for (let i = 0; i < lists.length; i++) {
    if (lists[i].length === 0) continue;
    const { run } = ArrayPrototypeShift(lists[i]);
    if (run !== undefined) run();
    return;
  }
  queues.delete(request);
}

/** The request is over. */
function dropTasks(request) {
  queues.delete(request);
}

class Scheduler {
  #brand;

  constructor() {
    if (arguments[0] !== TOKEN) webidl.illegalConstructor();
  }

  postTask(callback, options = undefined) {
    const prefix = "Failed to execute 'postTask' on 'Scheduler'";
    try {
      this.#brand;
      webidl.requiredArguments(arguments.length, 1, prefix);
      callback = converters.Function(callback, prefix, "Argument 1");
      const { signal, priority, delay } = convertTaskOptions(options, prefix, "Argument 2");
      return abortable(signal, (resolve, reject) => {
        const run = () => {
          try {
            resolve(FunctionPrototypeCall(callback, undefined));
          } catch (error) {
            reject(error);
          }
        };
        let task;
        const timer = delay > 0 ? startTimer(() => { task = enqueue(RANKS[priority], run); }, delay) : undefined;
        if (timer === undefined) task = enqueue(RANKS[priority], run);
        return () => {
          if (task !== undefined) task.run = undefined;
          else cancelTimer(timer);
        };
      });
    } catch (error) {
      return PromiseReject(error);
    }
  }

  yield() {
    try {
      this.#brand;
      return abortable(undefined, (resolve) => {
        enqueue(RANKS.yield, () => resolve(undefined));
        return () => {};
      });
    } catch (error) {
      return PromiseReject(error);
    }
  }

  wait(delay, options = undefined) {
    const prefix = "Failed to execute 'wait' on 'Scheduler'";
    try {
      this.#brand;
      webidl.requiredArguments(arguments.length, 1, prefix);
      delay = converters["unsigned long long"](delay, prefix, "Argument 1", { __proto__: null, enforceRange: true });
      const { signal } = convertWaitOptions(options, prefix, "Argument 2");
      return abortable(signal, (resolve) => {
        const timer = startTimer(() => resolve(undefined), delay);
        return () => cancelTimer(timer);
      });
    } catch (error) {
      return PromiseReject(error);
    }
  }
}
webidl.configureInterface(Scheduler);
registerPlatformClass(Scheduler, []);

/** A promise that `start` settles, or the signal rejects; `start` returns what takes back what it has begun. */
function abortable(signal, start) {
  if (signal === undefined) return new Promise((resolve, reject) => { start(resolve, reject); });
  if (isAborted(signal)) return PromiseReject(abortReason(signal));
  return new Promise((resolve, reject) => {
    let onAbort;
    const forget = () => removeAbortAlgorithm(signal, onAbort);
    const done = new Promise((fulfil, fail) => {
      const takeBack = start(fulfil, fail);
      onAbort = () => {
        takeBack();
        fail(abortReason(signal));
      };
      addAbortAlgorithm(signal, onAbort);
    });
    PromisePrototypeThen(done, (value) => {
      forget();
      resolve(value);
    }, (error) => {
      forget();
      reject(error);
    });
  });
}

const scheduler = new (/** @type {any} */ (Scheduler))(TOKEN);

module.exports = { Scheduler, scheduler, dropTasks };
