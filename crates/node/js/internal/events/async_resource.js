"use strict";
// events.EventEmitterAsyncResource: an emitter whose listeners run in the async context in which it was made
// (https://nodejs.org/api/events.html#class-eventseventemitterasyncresource-extends-eventemitter).

const { AsyncResource } = require("async_hooks");
const EventEmitter = require("events");
const { ERR_INVALID_THIS } = require("internal/errors");
const { validateString } = require("internal/validators");

class EmittersResource extends AsyncResource {
  #emitter;

  constructor(emitter, type, options) {
    super(type, options);
    this.#emitter = emitter;
  }

  get eventEmitter() { return this.#emitter; }
}

let resourceOf;

class EventEmitterAsyncResource extends EventEmitter {
  #resource;

  constructor(options = undefined) {
    let name;
    if (typeof options === "string") {
      name = options;
      options = undefined;
    } else {
      if (new.target === EventEmitterAsyncResource) validateString(options?.name, "options.name");
      name = options?.name || new.target.name;
    }
    super(options);
    this.#resource = new EmittersResource(this, name, options);
  }

  emit(event, ...args) { return resourceOf(this).runInAsyncScope(super.emit, this, event, ...args); }
  emitDestroy() { resourceOf(this).emitDestroy(); }
  get asyncId() { return resourceOf(this).asyncId(); }
  get triggerAsyncId() { return resourceOf(this).triggerAsyncId(); }
  get asyncResource() { return resourceOf(this); }

  static {
    resourceOf = (emitter) => {
      if (!(#resource in emitter)) throw new ERR_INVALID_THIS("EventEmitterAsyncResource");
      return emitter.#resource;
    };
  }
}

module.exports = EventEmitterAsyncResource;
