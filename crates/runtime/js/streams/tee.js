// @ts-check
"use strict";
// ReadableStreamDefaultTee and ReadableByteStreamTee: https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaulttee
// Both branches of a default stream get the same chunks, unless the second is to have clones; those of a byte stream get bytes of
// their own, always.

const { PromisePrototypeThen, PromiseWithResolvers } = require("primordials");
const { queueTask } = require("streams/promises");
const {
  ReadRequest, acquireByobReader, acquireDefaultReader, byobRead, defaultRead, readableCancel, releaseReader,
} = require("streams/readable_core");
const { Source } = require("streams/controller");
const { createDefaultState } = require("streams/readable_default");
const { createByteState } = require("streams/byte_controller");
const { bufferOf, byteLengthOf, byteOffsetOf, cloneBytes } = require("streams/views");
const { byobRequestState } = require("streams/readable_byte");

const cloning = lazy("structured_clone");

/** A branch: the source of one of the two streams. */
class Branch extends Source {
  tee;
  isSecond;
  cancelled = false;
  readAgain = false;
  /** @type {any} */
  reason = undefined;
  /** @type {any} its ReadableState */
  state = undefined;

  constructor(tee, isSecond) {
    super();
    this.tee = tee;
    this.isSecond = isSecond;
  }

  pull() {
    this.tee.pull(this);
  }

  cancel(reason) {
    this.cancelled = true;
    this.reason = reason;
    return this.tee.cancelled();
  }

  get controller() {
    return this.state.controller;
  }
}

class Tee {
  stream;
  reader;
  reading = false;
  branch1 = new Branch(this, false);
  branch2 = new Branch(this, true);
  cancelResolvers = PromiseWithResolvers();

  constructor(stream) {
    this.stream = stream;
    this.reader = acquireDefaultReader(stream);
  }

  pull(_branch) {}

  /** One of the branches was cancelled; the stream is, when both are. */
  cancelled() {
    const { branch1, branch2 } = this;
    if (branch1.cancelled && branch2.cancelled) {
      this.cancelResolvers.resolve(readableCancel(this.stream, [branch1.reason, branch2.reason]));
    }
    return this.cancelResolvers.promise;
  }

  resolveCancelUnlessBoth() {
    if (!this.branch1.cancelled || !this.branch2.cancelled) this.cancelResolvers.resolve(undefined);
  }

  errorBranches(error) {
    this.branch1.controller.error(error);
    this.branch2.controller.error(error);
  }

  /** Errors of the stream go to the branches at once, ahead of chunks that are still queued. */
  forwardErrors(reader) {
    PromisePrototypeThen(reader.closed.get(), undefined, (error) => {
      if (reader !== this.reader) return;
      this.errorBranches(error);
      this.resolveCancelUnlessBoth();
    });
  }

  /** A chunk could not be copied. */
  fail(error) {
    this.errorBranches(error);
    this.cancelResolvers.resolve(readableCancel(this.stream, error));
  }
}

class DefaultTee extends Tee {
  request = new DefaultTeeRequest(this);
  clonesForSecond;

  constructor(stream, clonesForSecond) {
    super(stream);
    this.clonesForSecond = clonesForSecond;
  }

  pull() {
    if (this.reading) {
      this.branch1.readAgain = true;
      return;
    }
    this.reading = true;
    defaultRead(this.reader, this.request);
  }

  deliver(chunk) {
    const { branch1, branch2 } = this;
    branch1.readAgain = false;
    let second = chunk;
    if (!branch2.cancelled && this.clonesForSecond) {
      try {
        second = cloning.use().structuredClone(chunk);
      } catch (error) {
        this.fail(error);
        return;
      }
    }
    if (!branch1.cancelled) branch1.controller.enqueue(chunk);
    if (!branch2.cancelled) branch2.controller.enqueue(second);
    this.reading = false;
    if (branch1.readAgain) this.pull();
  }
}

class DefaultTeeRequest extends ReadRequest {
  tee;
  constructor(tee) {
    super();
    this.tee = tee;
  }

  chunkSteps(chunk) {
    // A microtask later, for errors of the stream take one as well and must not come second.
    queueTask(() => this.tee.deliver(chunk));
  }

  closeSteps() {
    const { tee } = this;
    tee.reading = false;
    if (!tee.branch1.cancelled) tee.branch1.controller.close();
    if (!tee.branch2.cancelled) tee.branch2.controller.close();
    tee.resolveCancelUnlessBoth();
  }

  errorSteps() {
    this.tee.reading = false;
  }
}

class ByteTee extends Tee {
  pull(branch) {
    if (this.reading) {
      branch.readAgain = true;
      return;
    }
    this.reading = true;
    const byobRequest = byobRequestState(branch.controller);
    if (byobRequest === null) this.pullWithDefaultReader();
    else this.pullWithByobReader(byobRequest.view, branch);
  }

  pullWithDefaultReader() {
    if (this.reader.isByob) {
      releaseReader(this.reader);
      this.forwardErrors(this.reader = acquireDefaultReader(this.stream));
    }
    defaultRead(this.reader, new ByteTeeRequest(this));
  }

  pullWithByobReader(view, branch) {
    if (!this.reader.isByob) {
      releaseReader(this.reader);
      this.forwardErrors(this.reader = acquireByobReader(this.stream));
    }
    byobRead(this.reader, view, 1, new ByteTeeIntoRequest(this, branch));
  }

  otherThan(branch) {
    return branch === this.branch1 ? this.branch2 : this.branch1;
  }

  /** The copy of a chunk; undefined when it failed, and all is over then. */
  clone(chunk) {
    try {
      return cloneBytes(bufferOf(chunk), byteOffsetOf(chunk), byteLengthOf(chunk));
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  deliver(chunk) {
    const { branch1, branch2 } = this;
    branch1.readAgain = branch2.readAgain = false;
    let chunk2 = chunk;
    if (!branch1.cancelled && !branch2.cancelled) {
      chunk2 = this.clone(chunk);
      if (chunk2 === undefined) return;
    }
    if (!branch1.cancelled) branch1.controller.enqueue(chunk);
    if (!branch2.cancelled) branch2.controller.enqueue(chunk2);
    this.delivered();
  }

  deliverInto(chunk, branch) {
    const other = this.otherThan(branch);
    branch.readAgain = other.readAgain = false;
    if (!other.cancelled) {
      const copy = this.clone(chunk);
      if (copy === undefined) return;
      if (!branch.cancelled) branch.controller.respondWithNewView(chunk);
      other.controller.enqueue(copy);
    } else if (!branch.cancelled) {
      branch.controller.respondWithNewView(chunk);
    }
    this.delivered();
  }

  delivered() {
    this.reading = false;
    if (this.branch1.readAgain) this.pull(this.branch1);
    else if (this.branch2.readAgain) this.pull(this.branch2);
  }
}

class ByteTeeRequest extends ReadRequest {
  tee;
  constructor(tee) {
    super();
    this.tee = tee;
  }

  chunkSteps(chunk) {
    queueTask(() => this.tee.deliver(chunk));
  }

  closeSteps() {
    const { tee } = this;
    const { branch1, branch2 } = tee;
    tee.reading = false;
    if (!branch1.cancelled) branch1.controller.close();
    if (!branch2.cancelled) branch2.controller.close();
    if (branch1.controller.pendingPullIntos.length > 0) branch1.controller.respond(0);
    if (branch2.controller.pendingPullIntos.length > 0) branch2.controller.respond(0);
    tee.resolveCancelUnlessBoth();
  }

  errorSteps() {
    this.tee.reading = false;
  }
}

class ByteTeeIntoRequest extends ReadRequest {
  tee;
  branch;
  constructor(tee, branch) {
    super();
    this.tee = tee;
    this.branch = branch;
  }

  chunkSteps(chunk) {
    queueTask(() => this.tee.deliverInto(chunk, this.branch));
  }

  closeSteps(chunk) {
    const { tee, branch } = this;
    const other = tee.otherThan(branch);
    tee.reading = false;
    if (!branch.cancelled) branch.controller.close();
    if (!other.cancelled) other.controller.close();
    if (chunk !== undefined) {
      if (!branch.cancelled) branch.controller.respondWithNewView(chunk);
      if (!other.cancelled && other.controller.pendingPullIntos.length > 0) other.controller.respond(0);
    }
    tee.resolveCancelUnlessBoth();
  }

  errorSteps() {
    this.tee.reading = false;
  }
}

/** ReadableStreamTee: the states of the two branches. Throws when the stream is locked. */
function teeState(stream, clonesForSecond = false) {
  let tee;
  if (stream.controller.isByte) {
    tee = new ByteTee(stream);
    tee.branch1.state = createByteState(tee.branch1);
    tee.branch2.state = createByteState(tee.branch2);
  } else {
    tee = new DefaultTee(stream, clonesForSecond);
    tee.branch1.state = createDefaultState(tee.branch1);
    tee.branch2.state = createDefaultState(tee.branch2);
  }
  tee.forwardErrors(tee.reader);
  return tee;
}

module.exports = { teeState };
