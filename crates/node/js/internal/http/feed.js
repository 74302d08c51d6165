"use strict";
// The body of an IncomingMessage that is written within the worker, as its source: chunks wait until they are read, and the
// writer is told when too many do.

const { endMessage } = require("_http_incoming");

const FULL = 65536;

class Feed {
  #message = undefined;
  #queue = [];
  #size = 0;
  #wanted = false;
  #ended = false;
  #cancelled = false;
  #full = false;
  #onRoom;
  #onCancel;
  #socket;

  /** `onRoom` after `write` returned false; `onCancel` when nothing more is wanted. */
  constructor(socket, onRoom, onCancel) {
    this.#socket = socket;
    this.#onRoom = onRoom;
    this.#onCancel = onCancel;
  }

  /** Whether there is room for more. */
  write(chunk) {
    if (this.#cancelled) return true;
    this.#queue.push(chunk);
    this.#size += chunk.length;
    this.#pump();
    this.#full = this.#size >= FULL;
    return !this.#full;
  }

  end() {
    this.#ended = true;
    this.#pump();
  }

  get isEnded() { return this.#ended; }

  // ---- As a source

  read(message) {
    this.#message = message;
    this.#wanted = true;
    this.#pump();
  }

  cancel() {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#queue = [];
    this.#size = 0;
    const unfinished = !this.#ended;
    this.#ended = true;
    if (unfinished) this.#onCancel();
  }

  socket() {
    return this.#socket();
  }

  #pump() {
    while (this.#wanted && this.#queue.length > 0) {
      const chunk = this.#queue.shift();
      this.#size -= chunk.length;
      this.#wanted = this.#message.push(chunk);
    }
    if (this.#full && this.#size < FULL) {
      this.#full = false;
      this.#onRoom();
    }
    if (this.#wanted && this.#ended && this.#queue.length === 0) {
      this.#wanted = false;
      endMessage(this.#message);
    }
  }
}

module.exports = { Feed };
