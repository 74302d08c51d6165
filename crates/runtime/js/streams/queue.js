// @ts-check
"use strict";
// Queue-with-sizes (https://streams.spec.whatwg.org/#queue-with-sizes) and the lists of requests behind streams.
// Nothing here indexes past what it has written itself, so an app that puts setters on Array.prototype sees nothing.

const { NumberMAX_VALUE, RangeError } = require("primordials");

/** Slots in a block; every entry takes two, its value and its size. */
const SLOTS = 16;

class Block {
  // A literal: every slot exists from the start, and assigning one never asks the prototype.
  slots = [
    undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined,
    undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined,
  ];
  /** @type {Block | undefined} */
  next = undefined;
}

/** A queue of values with sizes: linked blocks; one block is used again and again while the queue stays short. */
class SizedQueue {
  length = 0;
  totalSize = 0;
  /** @type {any} */
  head = undefined;
  headAt = 0;
  /** @type {any} */
  tail = undefined;
  tailAt = 0;

  /** EnqueueValueWithSize, for a size that is known to be good. */
  push(value, size) {
    let tail = this.tail;
    if (tail === undefined) {
      tail = this.head = this.tail = new Block();
    } else if (this.tailAt === SLOTS) {
      tail = this.tail = tail.next = new Block();
      this.tailAt = 0;
    }
    const at = this.tailAt;
    tail.slots[at] = value;
    tail.slots[at + 1] = size;
    this.tailAt = at + 2;
    this.length++;
    this.totalSize += size;
  }

  /** DequeueValue; the queue must not be empty. */
  shift() {
    const block = this.head;
    const at = this.headAt;
    const value = block.slots[at];
    const total = this.totalSize - block.slots[at + 1];
    block.slots[at] = undefined;
    this.totalSize = total < 0 ? 0 : total; // rounding errors
    if (--this.length === 0) {
      this.headAt = this.tailAt = 0;
    } else if ((this.headAt = at + 2) === SLOTS) {
      this.head = block.next;
      this.headAt = 0;
    }
    return value;
  }

  peek() {
    return this.head.slots[this.headAt];
  }

  /** ResetQueue */
  clear() {
    this.length = this.totalSize = this.headAt = this.tailAt = 0;
    this.head = this.tail = undefined;
  }
}

/** Throws what EnqueueValueWithSize throws for a size that is not a finite number of at least 0. */
function checkSize(size) {
  if (!(size >= 0 && size <= NumberMAX_VALUE)) {
    throw new RangeError("The size of a chunk must be a finite, non-negative number");
  }
}

/** A list of objects that are linked through their own `next`; each is in one list at a time. */
class LinkedList {
  length = 0;
  /** @type {any} */
  head = undefined;
  /** @type {any} */
  tail = undefined;

  push(item) {
    if (this.tail === undefined) this.head = item;
    else this.tail.next = item;
    this.tail = item;
    this.length++;
  }

  shift() {
    const item = this.head;
    if (item === undefined) return undefined;
    if ((this.head = item.next) === undefined) this.tail = undefined;
    else item.next = undefined;
    this.length--;
    return item;
  }

  clear() {
    this.length = 0;
    this.head = this.tail = undefined;
  }

  /** Empties the list and returns what was in it. */
  takeAll() {
    const all = new LinkedList();
    all.head = this.head;
    all.tail = this.tail;
    all.length = this.length;
    this.clear();
    return all;
  }
}

module.exports = { SizedQueue, LinkedList, checkSize };
