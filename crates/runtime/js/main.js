// @ts-check
"use strict";
// What Rust calls: events in, answers out by ops. Each entry sets the async context of its request first, so that all that
// follows from it, however late, knows whose it is. Nothing here throws: what an app throws is its answer.
//
// Precedence of handlers: the default export's (its routes, then its fetch), then the listeners of addEventListener, then a
// server of node:http, then none (Rust answers 501).

const {
  ArrayIsArray, FunctionPrototypeCall, FunctionPrototypeToString, JSONParse, JSONStringify, ObjectFreeze, ObjectGetPrototypeOf,
  ObjectPrototype, PromisePrototypeThen, PromiseResolve, ReflectConstruct, StringPrototypeStartsWith, TypeError,
} = require("primordials");
const { op_background_error, op_console, op_event_done, op_request_fail } = require("ops");
const { currentRequest, frameFor, swapFrame } = require("request_scope");
const { setReportException } = require("dom/report");
const { abortNativeRequest, requestFromNative } = require("fetch/request");
const { Response, isResponse, plainBody, respondNative } = require("fetch/response");
const { addPending, dropPending, pendingRequest } = require("events/pending");
const { callListeners, listens, offerError, offerRejection: offerToListeners } = require("events/scope");
const { KEY, ExecutionContext, setWaitUntilReport } = require("events/context");
const { defineHearth } = require("globals");
const { setEnvironment: keepEnvironment } = require("environment");
const { makeHearth } = require("hearth");
const { prepareStackTrace } = require("stack");

const exceptions = lazy("dom/exception");
const streams = lazy("streams/native");
const sockets = lazy("websocket/socket");
const timers = lazy("timers");
const inspection = lazy("inspect");
const consoles = lazy("console");
const events = lazy("events/extendable");
const routers = lazy("routes/router");
const commonJs = lazy("commonjs");
const nodeModules = lazy("node/modules");
const urls = lazy("url/url");
const servers = lazy("node/http");
const bindings = lazy("bindings");
const channels = lazy("dom/broadcast_channel");
const schedulers = lazy("scheduler");
const workers = lazy("node/workers");
const assetBindings = lazy("fetch/assets");

const FETCH = 1, SCHEDULED = 2, TASK = 4;
// Hooks, not events: src/worker/hooks.rs.
const IDLE = 256, TERMINATE = 512;
// Of rejections: src/worker/uncaught.rs.
const HANDLED = 1;

/** What the default export is called on, and its functions. */
let target, onFetch, onScheduled, onTask, onIdle, onTerminate;
/** The app has no handler, but node:http: its server has the requests. */
let hasServer = false;
let env = ObjectFreeze({ __proto__: null });

// ---- loading

/** The context becomes a worker's. `bound` is undefined unless the embedding program has bindings. */
function setEnvironment(list, name, version, worker, bound, assets) {
  defineHearth(makeHearth(name, version, worker));
  const values = {};
  for (let i = 0; i < list.length; i += 2) values[list[i]] = list[i + 1];
  if (bound !== undefined) bindings.use().addBindings(values, bound);
  if (assets !== undefined) assetBindings.use().addAssets(values, assets);
  env = ObjectFreeze(values);
  keepEnvironment(env);
}

/** Finds the handlers of an evaluated module (or of a script: undefined). Returns which there are, as bits. */
function setHandlers(namespace) {
  onFetch = onScheduled = onTask = undefined;
  const main = namespace === undefined ? undefined : namespace.default;
  if (workers.exports !== undefined && workers.exports.isEntrypoint(main)) return setEntrypoint(namespace, main);
  target = isClass(main) ? ReflectConstruct(main, [undefined, env]) : main;
  if (typeof target === "function" && typeof target.fetch !== "function") {
    // The application of a framework for Node, which listens by itself.
    if (!isServer() || typeof target.listen !== "function") onFetch = target;
    target = undefined;
  } else if (typeof target === "function" || (typeof target === "object" && target !== null)) {
    onFetch = method("fetch");
    onScheduled = method("scheduled");
    onTask = method("task");
    const { routes } = target;
    if (areOurs(routes, main)) onFetch = routers.use().createRouter(target, routes, onFetch);
  }
  onIdle = hook(namespace, "onIdle");
  onTerminate = hook(namespace, "onTerminate");
  return handlerBits();
}

function handlerBits() {
  if (onFetch === undefined && servers.exports !== undefined && !listens("fetch")) onFetch = servers.exports.fetchHandler();
  hasServer = onFetch === undefined && onScheduled === undefined && onTask === undefined && !listens("fetch") && isServer();
  return (onFetch !== undefined || hasServer || listens("fetch") ? FETCH : 0) |
    (onScheduled !== undefined || listens("scheduled") ? SCHEDULED : 0) |
    (onTask !== undefined || listens("task") ? TASK : 0) |
    (onIdle !== undefined ? IDLE : 0) | (onTerminate !== undefined ? TERMINATE : 0);
}

/** A class that extends WorkerEntrypoint of cloudflare:workers: each event has an instance of its own. */
function setEntrypoint(namespace, main) {
  target = undefined;
  onFetch = onEntrypoint(main, "fetch");
  onScheduled = onEntrypoint(main, "scheduled");
  onTask = onEntrypoint(main, "task");
  onIdle = hook(namespace, "onIdle");
  onTerminate = hook(namespace, "onTerminate");
  return handlerBits();
}

function onEntrypoint(main, name) {
  if (typeof main.prototype[name] !== "function") return undefined;
  return (event, env, context) => {
    const instance = ReflectConstruct(main, [context, env]);
    return FunctionPrototypeCall(instance[name], instance, event, env, context);
  };
}

/** Whether node:http was loaded, which takes requests once a server listens. */
function isServer() {
  return servers.exports !== undefined && servers.exports.isServer();
}

/** A method of the default export, or an export of its own. */
function hook(namespace, name) {
  const isThere = typeof target === "function" || (typeof target === "object" && target !== null);
  const own = isThere ? method(name) : undefined;
  if (own !== undefined || namespace === undefined) return own;
  const exported = namespace[name];
  return typeof exported === "function" ? exported : undefined;
}

/** Routers of frameworks have a fetch and routes too, which are their own business: an array, or those of an instance. */
function areOurs(routes, main) {
  if (routes === undefined || onFetch === undefined) return routes !== undefined;
  if (ArrayIsArray(routes)) return false;
  const prototype = ObjectGetPrototypeOf(target);
  return target !== main || prototype === ObjectPrototype || prototype === null;
}

function method(name) {
  const value = target[name];
  return typeof value === "function" ? value : undefined;
}

function isClass(value) {
  return typeof value === "function" && StringPrototypeStartsWith(FunctionPrototypeToString(value), "class");
}

/** Which specifiers reach these is the loader's decision: `hearth eval` alone gets hearth:inspect. */
function builtinModule(id) {
  if (id === "hearth:inspect") return { inspect: inspection.use().inspect };
  return nodeModules.use().requireById(id);
}

// ---- fetch

/** Returns the text of a plain 200 where the answer is there at once; otherwise the answer comes by op_respond. */
function dispatchFetch(id) {
  const before = swapFrame(frameFor(id));
  try {
    const request = requestFromNative(id);
    if (onFetch === undefined) {
      dispatchOther(id, request);
      return undefined;
    }
    const result = FunctionPrototypeCall(onFetch, target, request, env, new ExecutionContext(KEY, id));
    if (isResponse(result)) {
      const text = plainBody(result);
      if (text === undefined && respondNative(id, result)) addPending(id, request);
      return text;
    }
    await_(id, request, result);
  } catch (error) {
    fail(id, error);
  } finally {
    swapFrame(before);
  }
  return undefined;
}

/** Answers with what `result` comes to. */
function await_(id, request, result) {
  addPending(id, request);
  PromisePrototypeThen(PromiseResolve(result), (response) => answer(id, response), (error) => fail(id, error));
}

function answer(id, response) {
  try {
    if (!isResponse(response)) {
      throw new TypeError(`the handler returned no Response but ${inspection.use().inspect(response, 1, 200)}`);
    }
    if (!respondNative(id, response)) dropPending(id);
  } catch (error) {
    fail(id, error);
  }
}

function dispatchOther(id, request) {
  if (!hasServer) {
    dispatchFetchEvent(id, request);
    return;
  }
  addPending(id, request);
  servers.use().serveRequest(id);
}

function dispatchFetchEvent(id, request) {
  const { FetchEvent, isAnswered, onAnswer } = events.use();
  const event = new FetchEvent(KEY, id, request);
  addPending(id, request);
  let answered = false;
  onAnswer(event, (response) => {
    answered = true;
    await_(id, request, response);
  });
  const returned = callListeners("fetch", event, isAnswered);
  if (answered) {
    // respondWith wins; what an async listener still throws must not go unseen.
    PromisePrototypeThen(PromiseResolve(returned), undefined, (error) => background(id, error));
    return;
  }
  // An async listener may call respondWith after an await: what it returns counts only if it has not.
  PromisePrototypeThen(PromiseResolve(returned), (response) => {
    if (answered) return;
    if (response === undefined) fail(id, new TypeError("no listener called respondWith or returned a Response"));
    else answer(id, response);
  }, (error) => {
    if (answered) background(id, error);
    else fail(id, error);
  });
}

/** The client went away, or time is up. */
function abortRequest(id, message) {
  const request = pendingRequest(id);
  dropPending(id);
  const before = swapFrame(frameFor(id));
  try {
    if (request !== undefined) abortNativeRequest(request, makeDomException(message, "AbortError"));
    if (streams.exports !== undefined) streams.exports.stopPumps(id);
    if (servers.exports !== undefined) servers.exports.abortServed(id);
  } catch (error) {
    background(id, error);
  } finally {
    swapFrame(before);
  }
}

// ---- scheduled and task

function dispatchScheduled(id, time, cron) {
  const before = swapFrame(frameFor(id));
  try {
    const { ScheduledEvent, isAnswered } = events.use();
    const event = new ScheduledEvent(KEY, id, time, cron);
    const returned = onScheduled === undefined
      ? callListeners("scheduled", event, isAnswered)
      : FunctionPrototypeCall(onScheduled, target, event, env, new ExecutionContext(KEY, id));
    PromisePrototypeThen(PromiseResolve(returned), () => op_event_done(id, true), (error) => failEvent(id, error));
  } catch (error) {
    failEvent(id, error);
  } finally {
    swapFrame(before);
  }
}

function dispatchTask(id, name, payload, attempt, scheduledTime) {
  const before = swapFrame(frameFor(id));
  try {
    const about = {
      id: name, payload: payload === undefined ? undefined : JSONParse(payload), attempt, scheduledTime,
    };
    const { TaskEvent, isAnswered, onAnswer } = events.use();
    const event = new TaskEvent(KEY, id, about);
    let answered = false;
    const finish = (value) => PromisePrototypeThen(PromiseResolve(value),
      (result) => finishTask(id, result), (error) => failEvent(id, error));
    onAnswer(event, (value) => {
      answered = true;
      finish(value);
    });
    const returned = onTask === undefined
      ? callListeners("task", event, isAnswered)
      : FunctionPrototypeCall(onTask, target, event, env, new ExecutionContext(KEY, id));
    PromisePrototypeThen(PromiseResolve(returned), (value) => {
      if (!answered) finish(value);
    }, (error) => {
      if (answered) background(id, error);
      else failEvent(id, error);
    });
  } catch (error) {
    failEvent(id, error);
  } finally {
    swapFrame(before);
  }
}

/** onIdle or onTerminate, by its bit: Rust asks only for what setHandlers said is there. */
function dispatchHook(id, bit) {
  const before = swapFrame(frameFor(id));
  const failed = (error) => {
    note(id, bit === IDLE ? "onIdle failed" : "onTerminate failed", error);
    op_event_done(id, false);
  };
  try {
    const returned = FunctionPrototypeCall(bit === IDLE ? onIdle : onTerminate, target, env, new ExecutionContext(KEY, id));
    PromisePrototypeThen(PromiseResolve(returned), () => op_event_done(id, true), failed);
  } catch (error) {
    failed(error);
  } finally {
    swapFrame(before);
  }
}

/** `{ success, data, error }` is taken as it is; anything else is the data of a success. */
function finishTask(id, result) {
  try {
    if (typeof result === "object" && result !== null && typeof result.success === "boolean") {
      const error = result.error === undefined ? undefined : `${result.error?.message ?? result.error}`;
      op_event_done(id, result.success, JSONStringify(result.data), error);
    } else {
      op_event_done(id, true, JSONStringify(result), undefined);
    }
  } catch (error) {
    failEvent(id, error);
  }
}

function failEvent(id, error) {
  let message;
  try {
    message = typeof error === "object" && error !== null && "message" in error ? `${error.message}` : `${error}`;
  } catch {
    message = describeError(error);
  }
  note(id, "The handler failed", error);
  op_event_done(id, false, undefined, message);
}

// ---- errors

function fail(id, error) {
  dropPending(id);
  op_request_fail(id, describeError(error));
}

/** An uncaught error: it is logged, and the worker is replaced. */
function background(id, error) {
  op_background_error(id, describeError(error));
}

/** An error that is the app's own affair: the log has it, and the worker is as good as before. */
function note(id, what, error) {
  op_console(id, "error", `${what}: ${describeError(error)}`);
}

function describeError(error) {
  try {
    const { inspect, MAX_TOTAL } = inspection.use();
    return inspect(error, 3, MAX_TOTAL);
  } catch {
    return "an error that cannot be described";
  }
}

function makeDomException(message, name) {
  const { DOMException } = exceptions.use();
  return new DOMException(message, name);
}

setWaitUntilReport((id, error) => note(id, "A promise given to waitUntil was rejected", error));
setReportException((error) => {
  if (!offerError(error, describeError)) background(currentRequest(), error);
});

/** A rejection that was unhandled at the end of a request's turn (HANDLED: that has a handler by now). */
function offerRejection(id, promise, reason, event) {
  const before = swapFrame(frameFor(id));
  try {
    return offerToListeners(promise, reason, event === HANDLED);
  } finally {
    swapFrame(before);
  }
}

/** The request is over. Files that have not run have nothing of it. */
function dropRequest(id) {
  dropPending(id);
  if (streams.exports !== undefined) streams.exports.stopPumps(id);
  if (sockets.exports !== undefined) sockets.exports.dropSockets(id);
  if (timers.exports !== undefined) timers.exports.dropTimers(id);
  if (consoles.exports !== undefined) consoles.exports.dropConsole(id);
  if (channels.exports !== undefined) channels.exports.dropChannels(id);
  if (schedulers.exports !== undefined) schedulers.exports.dropTasks(id);
}

// Rust holds on to these from the beginning of a context, and the files behind them need not have run by then.

function fireTimer(id) {
  timers.use().fireTimer(id);
}

function deliverSocket(socket, kind, data, reason) {
  sockets.use().deliverSocket(socket, kind, data, reason);
}

function requireCommonJs(id, isMain) {
  return commonJs.use().requireCommonJs(id, isMain);
}

// ---- before there is an app

const SPARE = "spare";

/**
 * Handles a request without a client, in a context that no worker has yet. Nothing remains but what V8 has learned: the
 * shapes of the objects that a request makes, which are in the snapshot; and that functions are compiled, which spares have
 * found out before they are needed.
 */
function rehearse(stage) {
  setHandlers({ default: { fetch: (request) => rehearsal(request, stage) } });
  dispatchFetch(1);
  setHandlers(undefined);
}

function rehearsal(request, stage) {
  const { headers } = request;
  if (stage === SPARE) {
    // The native that it ends with needs a worker and throws; the code before it has run.
    attempt(() => headers.get("accept"));
    new (urls.use().URL)("http://host/").pathname;
  }
  Response.json(null);
  return new Response("text");
}

function attempt(f) {
  try {
    f();
  } catch {
    // as it must
  }
}

module.exports = {
  rehearse, dispatchFetch, dispatchScheduled, dispatchTask, dispatchHook, fireTimer, deliverSocket, dropRequest, abortRequest,
  setEnvironment, setHandlers, makeDomException, describeError, offerRejection, prepareStackTrace, requireCommonJs, builtinModule,
};
