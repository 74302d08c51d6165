"use strict";
// A parser of HTTP/1.1 messages (RFC 9112) for connections that an app has made by itself: sockets of agents, Unix sockets,
// sockets within the worker. It takes bytes as they come and calls `onHead(firstLine, rawHeaders)`, `onBody(bytes)` and
// `onEnd(rawTrailers)` for each message; `onHead` says how the body is framed: { none, upgrade, untilClose }.
//
// Strict as a client or server has to be: no obsolete folding, no spaces before colons, one length, no length beside chunks.

const { Buffer } = require("buffer");

const MAX_HEAD = 16384;
const HEAD = 0, BODY = 1, CHUNK_SIZE = 2, CHUNK_DATA = 3, CHUNK_END = 4, TRAILERS = 5, UNTIL_CLOSE = 6, RAW = 7;
const NAME = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const EMPTY = Buffer.alloc(0);

function parseError(code, message) {
  return Object.assign(new Error(`Parse Error: ${message}`), { code });
}

class Parser {
  #state = HEAD;
  #held = EMPTY;
  #left = 0;
  #paused = false;
  #handlers;

  constructor(handlers) {
    this.#handlers = handlers;
  }

  /** The rest after an upgrade, else undefined. Throws where the bytes are no HTTP. */
  execute(bytes) {
    let data = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
    this.#held = EMPTY;
    while (data.length > 0) {
      if (this.#paused) {
        this.#held = data;
        return undefined;
      }
      const rest = this.#step(data);
      if (this.#state === RAW) return rest;
      if (rest === undefined) {
        this.#held = data;
        return undefined;
      }
      data = rest;
    }
    return undefined;
  }

  /** The connection has ended; throws where a message is incomplete. */
  finish() {
    if (this.#state === UNTIL_CLOSE) {
      this.#state = HEAD;
      this.#handlers.onEnd([]);
    } else if (this.#state !== RAW && (this.#state !== HEAD || this.#held.length > 0)) {
      throw parseError("HPE_INVALID_EOF_STATE", "Invalid EOF state");
    }
  }

  /** Bytes wait from here on, until `resume()`, which returns what `execute` does. */
  pause() {
    this.#paused = true;
  }

  resume() {
    this.#paused = false;
    return this.execute(EMPTY);
  }

  /** What is left of `data`; undefined: it has to be longer. */
  #step(data) {
    switch (this.#state) {
      case HEAD: return this.#head(data);
      case BODY: return this.#body(data);
      case CHUNK_SIZE: return this.#chunkSize(data);
      case CHUNK_DATA: return this.#chunk(data);
      case CHUNK_END: return this.#chunkEnd(data);
      case TRAILERS: return this.#trailers(data);
      default:
        this.#handlers.onBody(data);
        return EMPTY;
    }
  }

  /** The lines up to an empty one, and what follows. */
  #lines(data) {
    const end = data.indexOf("\r\n\r\n");
    if (end > MAX_HEAD || (end < 0 && data.length > MAX_HEAD)) throw parseError("HPE_HEADER_OVERFLOW", "Header overflow");
    return end < 0 ? undefined : [data.latin1Slice(0, end).split("\r\n"), data.subarray(end + 4)];
  }

  #head(data) {
    // An empty line before a message is allowed.
    if (data[0] === 0x0d && data[1] === 0x0a) return data.subarray(2);
    const found = this.#lines(data);
    if (found === undefined) return undefined;
    const [lines, rest] = found;
    const headers = fields(lines, 1);
    const framing = this.#handlers.onHead(lines[0], headers);
    this.#frame(framing, headers);
    return rest;
  }

  #frame(framing, headers) {
    const { chunked, length } = framingOf(headers);
    if (framing.upgrade) {
      this.#state = RAW;
    } else if (framing.none) {
      this.#end([]);
    } else if (chunked) {
      this.#state = CHUNK_SIZE;
    } else if (length !== undefined) {
      this.#left = length;
      this.#state = BODY;
      if (length === 0) this.#end([]);
    } else if (framing.untilClose) {
      this.#state = UNTIL_CLOSE;
    } else {
      this.#end([]);
    }
  }

  #end(trailers) {
    this.#state = HEAD;
    this.#handlers.onEnd(trailers);
  }

  #body(data) {
    const part = data.subarray(0, this.#left);
    this.#left -= part.length;
    this.#handlers.onBody(part);
    if (this.#left === 0) this.#end([]);
    return data.subarray(part.length);
  }

  #chunkSize(data) {
    const end = data.indexOf("\r\n");
    if (end > 256 || (end < 0 && data.length > 256)) throw parseError("HPE_CHUNK_EXTENSIONS_OVERFLOW", "Chunk extensions overflow");
    if (end < 0) return undefined;
    const found = /^([0-9a-fA-F]{1,12})(?:[ \t]*;.*)?$/.exec(data.latin1Slice(0, end));
    if (found === null) throw parseError("HPE_INVALID_CHUNK_SIZE", "Invalid character in chunk size");
    this.#left = Number.parseInt(found[1], 16);
    this.#state = this.#left === 0 ? TRAILERS : CHUNK_DATA;
    return data.subarray(end + 2);
  }

  #chunk(data) {
    const part = data.subarray(0, this.#left);
    this.#left -= part.length;
    this.#handlers.onBody(part);
    if (this.#left === 0) this.#state = CHUNK_END;
    return data.subarray(part.length);
  }

  #chunkEnd(data) {
    if (data.length < 2) return undefined;
    if (data[0] !== 0x0d || data[1] !== 0x0a) throw parseError("HPE_STRICT", "Expected LF after chunk data");
    this.#state = CHUNK_SIZE;
    return data.subarray(2);
  }

  #trailers(data) {
    if (data.length < 2) return undefined;
    if (data[0] === 0x0d && data[1] === 0x0a) {
      this.#end([]);
      return data.subarray(2);
    }
    const found = this.#lines(data);
    if (found === undefined) return undefined;
    this.#end(fields(found[0], 0));
    return found[1];
  }
}

/** [name, value, ...] of lines. */
function fields(lines, from) {
  const list = [];
  for (let i = from; i < lines.length; i++) {
    const line = lines[i];
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    const value = trimmed(line, colon + 1);
    if (!NAME.test(name) || !VALUE.test(value)) throw parseError("HPE_INVALID_HEADER_TOKEN", "Invalid header token");
    list.push(name, value);
  }
  return list;
}

/** The line from `start` on, without spaces and tabs around it. */
function trimmed(line, start) {
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code) {
  return code === 0x20 || code === 0x09;
}

function framingOf(headers) {
  let chunked = false, length;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i].toLowerCase();
    if (name === "transfer-encoding") {
      if (!/(?:^|[\s,])chunked\s*$/i.test(headers[i + 1])) throw parseError("HPE_INVALID_TRANSFER_ENCODING", "Invalid transfer encoding");
      chunked = true;
    } else if (name === "content-length") {
      if (!/^\d{1,15}$/.test(headers[i + 1])) throw parseError("HPE_INVALID_CONTENT_LENGTH", "Invalid character in Content-Length");
      if (length !== undefined) throw parseError("HPE_UNEXPECTED_CONTENT_LENGTH", "Content-Length is there twice");
      length = +headers[i + 1];
    }
  }
  if (chunked && length !== undefined) {
    throw parseError("HPE_UNEXPECTED_CONTENT_LENGTH", "Content-Length can't be present with Transfer-Encoding");
  }
  return { chunked, length };
}

module.exports = { Parser, parseError };
