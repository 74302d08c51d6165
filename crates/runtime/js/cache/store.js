// @ts-check
"use strict";
// What the caches of a worker hold: responses in memory, all caches together bounded, the least recently used one is dropped
// first. Bytes count against the worker's memory like any others of the app. No ops.

const { DateNow, SafeMap, TypedArrayPrototypeGetByteLength } = require("primordials");

const MAX_BYTES = 8 * 1024 * 1024, MAX_ENTRY_BYTES = 1024 * 1024, MAX_ENTRIES = 512;
/** What an entry takes beside its body. */
const OVERHEAD = 1024;

/** An entry: { cache, url, vary: [name, value...], status, statusText, headers, bytes, expires }. */

/** Key (a number) to entry, the least recently used one first. */
const entries = new SafeMap();
/** `CACHE URL` to the keys of its entries, of which only headers that they vary by differ. */
const byUrl = new SafeMap();
let lastKey = 0, total = 0;

const nameOf = (cache, url) => `${cache} ${url}`;
const sizeOf = (entry) => OVERHEAD + 2 * entry.url.length + TypedArrayPrototypeGetByteLength(entry.bytes);

function drop(key) {
  const entry = entries.get(key);
  entries.delete(key);
  total -= sizeOf(entry);
  const name = nameOf(entry.cache, entry.url);
  const keys = byUrl.get(name);
  const kept = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] !== key) kept[kept.length] = keys[i];
  if (kept.length === 0) byUrl.delete(name);
  else byUrl.set(name, kept);
}

/** The key of the entry for a URL whose vary headers are as `headerOf` says; undefined if there is none. */
function findKey(cache, url, headerOf) {
  const keys = byUrl.get(nameOf(cache, url));
  if (keys === undefined) return undefined;
  for (let i = 0; i < keys.length; i++) {
    const entry = entries.get(keys[i]);
    if (entry.expires <= DateNow()) {
      drop(keys[i]);
      continue;
    }
    if (headerOf === undefined || varies(entry.vary, headerOf)) return keys[i];
  }
  return undefined;
}

function varies(vary, headerOf) {
  for (let i = 0; i < vary.length; i += 2) if (headerOf(vary[i]) !== vary[i + 1]) return false;
  return true;
}

function findEntry(cache, url, headerOf) {
  const key = findKey(cache, url, headerOf);
  if (key === undefined) return undefined;
  const entry = entries.get(key);
  entries.delete(key);
  entries.set(key, entry);
  return entry;
}

/** Replaces the entry of the same request. What is too large is not kept, which a cache may do with anything at any time. */
function putEntry(entry, headerOf) {
  removeEntry(entry.cache, entry.url, headerOf);
  const size = sizeOf(entry);
  if (size > MAX_ENTRY_BYTES) return;
  const key = ++lastKey;
  entries.set(key, entry);
  total += size;
  const name = nameOf(entry.cache, entry.url);
  const keys = byUrl.get(name);
  if (keys === undefined) byUrl.set(name, [key]);
  else keys[keys.length] = key;
  while (total > MAX_BYTES || entries.size > MAX_ENTRIES) drop(entries.keys().next().value);
}

function removeEntry(cache, url, headerOf) {
  const key = findKey(cache, url, headerOf);
  if (key !== undefined) drop(key);
  return key !== undefined;
}

module.exports = { MAX_ENTRY_BYTES, findEntry, putEntry, removeEntry };
