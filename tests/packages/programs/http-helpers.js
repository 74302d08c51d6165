// qs, mime-types, content-type, accepts, negotiator, type-is, statuses, http-errors, etag, fresh, range-parser, vary and raw-body.
import { Readable } from "node:stream";
import accepts from "accepts";
import contentType from "content-type";
import etag from "etag";
import fresh from "fresh";
import createError from "http-errors";
import mime from "mime-types";
import Negotiator from "negotiator";
import qs from "qs";
import rangeParser from "range-parser";
import rawBody from "raw-body";
import statuses from "statuses";
import typeIs from "type-is";
import vary from "vary";
import { program } from "../program.js";

export default program(async (same) => {
  same("qs", [qs.parse("a[b][c]=1&d[]=2&d[]=3&e.f=4", { allowDots: true }), qs.stringify({ a: { b: [1, 2] } }, { encode: false })], [{ a: { b: { c: "1" } }, d: ["2", "3"], e: { f: "4" } }, "a[b][0]=1&a[b][1]=2"]);
  same("mime", [mime.lookup("a/b.json"), mime.contentType("x.html"), mime.extension("image/svg+xml")], ["application/json", "text/html; charset=utf-8", "svg"]);
  same("content-type", { ...contentType.parse('text/html; charset="utf-8"').parameters }, { charset: "utf-8" });
  const headers = { accept: "text/html;q=0.5, application/*", "accept-language": "de, en;q=0.8", "accept-encoding": "gzip, br;q=0.1" };
  same("accepts", [accepts({ headers }).type(["html", "json"]), accepts({ headers }).languages(["en", "de"])], ["json", "de"]);
  same("negotiator", new Negotiator({ headers }).encodings(["br", "gzip"]), ["gzip", "br"]);
  same("type-is", typeIs.is("application/vnd.x+json; a=b", ["+json"]), "application/vnd.x+json");
  same("statuses", [statuses.message[404], statuses("teapot".length === 6 ? "I'm a Teapot" : "")], ["Not Found", 418]);
  const error = createError(422, "bad", { field: "x" });
  same("http-errors", [error.status, error.expose, error.field, error instanceof createError.UnprocessableEntity], [422, true, "x", true]);
  same("etag", [etag("hello"), etag("hello", { weak: true }).startsWith("W/")], ['"5-qvTGHdzF6KLavt4PO0gs2a6pQ00"', true]);
  same("fresh", fresh({ "if-none-match": '"a"' }, { etag: '"a"' }), true);
  same("range", [...rangeParser(100, "bytes=0-4,90-")], [{ start: 0, end: 4 }, { start: 90, end: 99 }]);
  same("vary", vary.append("Accept", "Origin, accept"), "Accept, Origin");
  same("raw-body", await rawBody(Readable.from([Buffer.from("caf"), Buffer.from("\u00e9")]), { encoding: "utf8" }), "caf\u00e9");
  const large = await rawBody(Readable.from([Buffer.alloc(20)]), { limit: 10 }).catch((error) => error);
  same("limit", [large.status, large.type], [413, "entity.too.large"]);
});
