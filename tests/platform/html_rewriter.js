// HTMLRewriter as Cloudflare Workers have it: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/.

import { equal, ok, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const html = (body, init) => new Response(body, { headers: { "content-type": "text/html" }, ...init });
const rewrite = (body, build) => build(new HTMLRewriter()).transform(html(body)).text();
const on = (body, selector, element) => rewrite(body, (rewriter) => rewriter.on(selector, { element }));
const tick = () => new Promise((resolve) => setTimeout(resolve, 0));

/** The text as chunks of so many bytes. */
function chunked(text, size) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

const PAGE = `<!doctype html><html lang="en"><head><meta charset=utf-8><title>A &amp; B</title>
<script>if (a < b) document.write("<a href=x>")</script><style>p > a { color: red }</style></head>
<body class="one two"><!-- note --><h1 ID=top>H\u00e9llo \u{1f600}</h1><p>See <a href="/a?b=1&amp;c=2">this</a>, <a>that</a><br>
<img src=x.png alt='"q"'><svg viewBox="0 0 1 1"><path d="M0 0"/></svg><ul><li>1<li>2</ul></body></html>`;

test("it is a global that is run when it is used", () => {
  const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, "HTMLRewriter");
  same([enumerable, writable, configurable], [false, true, true]);
  equal(Object.prototype.toString.call(new HTMLRewriter()), "[object HTMLRewriter]");
  throws(() => HTMLRewriter(), { name: "TypeError" });
});

test("what is not changed comes out as it came in, at every chunk size", async () => {
  for (const size of [1, 2, 3, 7, 50, 10_000]) {
    const seen = { element() {}, comments() {}, text() {} };
    const all = new HTMLRewriter().on("*", seen).onDocument({ doctype() {}, comments() {}, text() {}, end() {} });
    equal(await all.transform(html(chunked(PAGE, size))).text(), PAGE, `chunks of ${size}:`);
  }
  equal(await new HTMLRewriter().transform(html(PAGE)).text(), PAGE);
});

test("edits are the same at every chunk border", async () => {
  const build = () => new HTMLRewriter()
    .on("a[href]", { element(e) { e.setAttribute("href", e.getAttribute("href").replace("/a", "/z")); e.after("!", { html: true }); } })
    .on("title", { element(e) { e.setInnerContent("<New>"); } })
    .on("h1", { element(e) { e.tagName = "h2"; e.prepend("<i>", { html: true }).append("</i>", { html: true }); } })
    .on("img", { element(e) { e.remove(); } })
    .on("li", { element(e) { e.removeAndKeepContent(); } })
    .onDocument({ comments(c) { c.text = " other "; }, end(end) { end.append("<!--end-->", { html: true }); } });
  const whole = await build().transform(html(PAGE)).text();
  ok(whole.includes('<a href="/z?b=1&amp;c=2">this</a>!'), whole);
  ok(whole.includes("<title>&lt;New&gt;</title>"), whole);
  ok(whole.includes("<h2 ID=top><i>H\u00e9llo \u{1f600}</i></h2>"), whole);
  ok(whole.includes("<!-- other --><h2"), whole);
  ok(whole.endsWith("</html><!--end-->") && !whole.includes("<img"), whole);
  ok(whole.includes('document.write("<a href=x>")'), "a script is not parsed");
  const length = new TextEncoder().encode(PAGE).length;
  for (let size = 1; size < length; size += size < 40 ? 1 : 37) {
    equal(await build().transform(html(chunked(PAGE, size))).text(), whole, `chunks of ${size}:`);
  }
});

test("attributes", async () => {
  const seen = [];
  const output = await on('<p A=1 b="x &amp; y" c>', "p", (e) => {
    for (const [name, value] of e.attributes) seen.push(`${name}=${value}`);
    same([e.getAttribute("B"), e.getAttribute("none"), e.hasAttribute("C"), e.hasAttribute("d")], ["x &amp; y", null, true, false]);
    equal(e.setAttribute("D", 'say "hi"'), e);
    equal(e.removeAttribute("a"), e);
    e.removeAttribute("none");
    e.setAttribute("c", "");
    same([...e.attributes], [["b", "x &amp; y"], ["c", ""], ["d", 'say "hi"']]);
    equal(e.attributes[Symbol.iterator]().next().done, false);
    for (const name of ["", "a b", "a=", "a>", "a/"]) throws(() => e.setAttribute(name, "x"), { name: "TypeError" });
    throws(() => e.setAttribute("a"), { name: "TypeError" });
  });
  same(seen, ["a=1", "b=x &amp; y", "c="]);
  equal(output, '<p b="x &amp; y" c="" d="say &quot;hi&quot;">');
});

test("names, namespaces, void elements", async () => {
  const seen = [];
  const output = await on("<DIV><br><svg><a/></svg><math></math></DIV>", "*", (e) => {
    seen.push([e.tagName, e.namespaceURI.split("/").at(-1)]);
    if (e.tagName !== "br") return e.onEndTag((tag) => { tag.name = tag.name.toUpperCase() + "x"; });
    throws(() => e.onEndTag(() => {}), /No end tag/);
    e.prepend("no").append("no").setInnerContent("no").after("yes");
  }).catch((error) => error.message);
  same(seen.map(([name]) => name), ["div", "br", "svg", "a"].slice(0, seen.length));
  ok(/No end tag/.test(output), `a self-closing element of SVG has no end tag: ${output}`);
  await on("<div><svg></svg></div>", "*", (e) => {
    throws(() => { e.tagName = ""; }, /can't be empty/);
    throws(() => { e.tagName = "1a"; }, /ASCII alphabetical/);
    throws(() => { e.tagName = "a b"; }, /forbidden/);
    e.tagName = "SPAN";
    equal(e.tagName, "span");
  }).then((text) => equal(text, "<SPAN><SPAN></SPAN></SPAN>"));
});

test("the order of what is inserted", async () => {
  const output = await on("<p>x</p>", "p", (e) => {
    e.before("1").before("<2>", { html: true }).after("8").after("7").prepend("4").prepend("3").append("5").append("6");
  });
  equal(output, "1<2><p>34x56</p>78");
  equal(await on("a<p>x<b>y</b></p>z", "p", (e) => e.replace("<n>").before("-")), "a-&lt;n&gt;z");
  equal(await on("a<p>x</p>z", "p", (e) => { equal(e.removed, false); e.remove(); equal(e.removed, true); }), "az");
});

test("several handlers of an element see what was done before them", async () => {
  const seen = [];
  const output = await rewrite("<p a=1><b>x</b></p>", (rewriter) => rewriter
    .on("p", { element(e) { e.setAttribute("a", "2"); e.setInnerContent("new"); } })
    .on("[a]", { element(e) { seen.push(e.getAttribute("a")); e.setAttribute("b", "3"); } })
    .on("b", { element(e) { seen.push(e.removed); }, text(t) { if (t.text) seen.push(t.text); } }));
  same(seen, ["2", true, "x"]);
  equal(output, '<p a="2" b="3">new</p>');
});

test("handlers are called on their object", async () => {
  class Counter {
    count = 0;
    element() { this.count++; }
    text(chunk) { if (chunk.lastInTextNode) this.count += 10; }
  }
  const counter = new Counter();
  await rewrite("<p>a</p><p>b</p>", (rewriter) => rewriter.on("p", counter));
  equal(counter.count, 22);
});

test("text comes in chunks, the last of a node says so", async () => {
  for (const size of [1, 4, 1000]) {
    const texts = [];
    let text = "";
    const rewriter = new HTMLRewriter().on("p", {
      text(chunk) {
        text += chunk.text;
        if (chunk.lastInTextNode) { texts.push(text); text = ""; chunk.replace(texts.at(-1).toUpperCase()); } else chunk.remove();
        equal(chunk.removed, true);
      },
    });
    const output = await rewriter.transform(html(chunked("<p>\u00e4 \u{1f600} &amp;<b>two</b></p>three", size))).text();
    same(texts, ["\u00e4 \u{1f600} &amp;", "two"]);
    equal(output, "<p>\u00c4 \u{1f600} &amp;AMP;<b>TWO</b></p>three");
  }
});

test("comments, the doctype, the end", async () => {
  const seen = [];
  const output = await rewrite('<!DOCTYPE html PUBLIC "p" "s"><!--a--><p><!--b--></p>', (rewriter) => rewriter
    .onDocument({
      doctype(d) { seen.push(d.name, d.publicId, d.systemId); },
      comments(c) {
        seen.push(c.text);
        for (const text of ["-->", ">", "->", "a--!>"]) throws(() => { c.text = text; }, /comment-closing/);
        c.before("[").after("]");
      },
      end(e) { e.append("<1>").append("<2>", { html: true }); },
    })
    .on("p", { comments(c) { c.replace("<c>", { html: true }); } }));
  same(seen, ["html", "p", "s", "a", "b"]);
  equal(output, '<!DOCTYPE html PUBLIC "p" "s">[<!--a-->]<p>[<c>]</p>&lt;1&gt;<2>');
  const plain = [];
  await rewrite("<!doctype html>", (rewriter) => rewriter.onDocument({ doctype(d) { plain.push(d.name, d.publicId, d.systemId); } }));
  same(plain, ["html", null, null]);
});

test("end tags", async () => {
  const order = [];
  const output = await on("<p><i>x</i></p><b>", "p, i, b", (e) => {
    order.push(`<${e.tagName}>`);
    e.onEndTag(() => order.push("replaced by the next"));
    e.onEndTag(async (tag) => {
      await tick();
      order.push(`</${tag.name}>`);
      tag.before("(").after(")");
      if (tag.name === "i") tag.remove();
    });
  });
  same(order, ["<p>", "<i>", "</i>", "</p>", "<b>"]);
  equal(output, "<p><i>x()(</p>)<b>");
});

test("asynchronous handlers are waited for, in order", async () => {
  const order = [];
  const output = await rewrite("<a>1</a><a>2</a>", (rewriter) => rewriter
    .on("a", {
      async element(e) {
        order.push("begin");
        await tick();
        e.setAttribute("n", String(order.length));
        order.push("end");
      },
      text(t) { if (t.text) order.push(t.text); },
    })
    .onDocument({ async end(end) { await tick(); end.append("!"); } }));
  same(order, ["begin", "end", "1", "begin", "end", "2"]);
  equal(output, '<a n="1">1</a><a n="4">2</a>!');
});

test("a handler may fetch, and content may be a stream or a response", async () => {
  const output = await on("<p>x</p>", "p", async (e) => {
    const text = await (await fetch("data:text/plain,fetched")).text();
    e.before(text).setInnerContent(new Response("<b>"), { html: true }).after(chunked("str\u00e9am", 1));
  });
  equal(output, "fetched<p><b></p>str\u00e9am");
  await rejects(on("<p>", "p", (e) => e.before(new ReadableStream({ pull() { throw new Error("broken"); } }))), /broken/);
});

test("tokens are of no use outside of their handler", async () => {
  const kept = {};
  await rewrite("<!doctype html><p a>x<!--c--></p>", (rewriter) => rewriter
    .on("p", { element(e) { kept.element = e; kept.attributes = e.attributes; e.onEndTag((t) => { kept.tag = t; }); },
      text(t) { kept.text ??= t; }, comments(c) { kept.comment = c; } })
    .onDocument({ doctype(d) { kept.doctype = d; }, end(e) { kept.end = e; } }));
  const invalid = { name: "TypeError", message: /no longer valid/ };
  for (const use of [
    () => kept.element.tagName, () => { kept.element.tagName = "a"; }, () => kept.element.setAttribute("a", "b"),
    () => kept.element.getAttribute("a"), () => kept.element.onEndTag(() => {}), () => kept.element.removed,
    () => kept.element.before("x"), () => kept.element.remove(), () => kept.attributes.next(), () => kept.tag.name,
    () => kept.tag.before("x"), () => kept.text.text, () => kept.text.replace("x"), () => kept.comment.text,
    () => { kept.comment.text = "x"; }, () => kept.doctype.name, () => kept.end.append("x"),
  ]) throws(use, invalid);
  await rewrite("<p><p>", (rewriter) => {
    let first;
    return rewriter.on("p", { element(e) { if (first) throws(() => first.remove(), invalid); else first = e; } });
  });
  const { constructor } = kept.element;
  throws(() => new constructor(), { name: "TypeError" });
  throws(() => constructor.prototype.remove.call({}), { name: "TypeError" });
  // A conversion that outlives the handler.
  let late;
  await on("<p>", "p", (e) => { late = () => e.setAttribute({ toString() { return "a"; } }, "b"); });
  throws(late, invalid);
});

test("errors of handlers are those of the body, and end it", async () => {
  const error = new RangeError("mine");
  let calls = 0;
  let cancelled;
  const endless = new ReadableStream({
    pull(controller) { controller.enqueue(new TextEncoder().encode("<p>x</p>")); },
    cancel(reason) { cancelled = reason; },
  });
  const failing = new HTMLRewriter().on("p", { element() { if (++calls === 3) throw error; } }).transform(html(endless));
  equal(await rejects(failing.text()), error);
  equal(cancelled, error);
  equal(calls, 3);
  equal(await rejects(on("<p>", "p", () => Promise.reject(error))), error);
  equal(await rejects(on("<p></p>", "p", (e) => e.onEndTag(() => { throw error; }))), error);
  equal(await rejects(rewrite("x", (rewriter) => rewriter.onDocument({ end() { throw error; } }))), error);
  const input = new ReadableStream({ pull() { throw error; } });
  equal(await rejects(new HTMLRewriter().on("p", {}).transform(html(input)).text()), error);
  await rejects(rewrite(new ReadableStream({ pull(c) { c.enqueue("text"); } }), (rewriter) => rewriter), /Uint8Array/);
});

test("it streams: no more is read than is wanted", async () => {
  let pulls = 0;
  const source = new ReadableStream({
    pull(controller) { controller.enqueue(new TextEncoder().encode(`<p>${++pulls}</p>`)); },
  }, { highWaterMark: 0 });
  const response = new HTMLRewriter().on("p", { element(e) { e.setAttribute("a", "b"); } }).transform(html(source));
  await tick();
  equal(pulls, 0);
  const reader = response.body.getReader();
  equal(new TextDecoder().decode((await reader.read()).value), '<p a="b">1</p>');
  equal(pulls, 1);
  await reader.cancel("enough");
  await tick();
  equal(pulls, 1);
});

test("a body that is cancelled while a handler runs", async () => {
  let resume;
  let cancelled = false;
  const source = new ReadableStream({
    pull(controller) { controller.enqueue(new TextEncoder().encode("<p>")); },
    cancel() { cancelled = true; },
  });
  const { body } = new HTMLRewriter().on("p", { element: () => new Promise((resolve) => { resume = resolve; }) }).transform(html(source));
  const reader = body.getReader();
  const read = reader.read();
  while (!resume) await tick();
  await reader.cancel();
  resume();
  equal((await read).done, true);
  ok(cancelled);
});

test("responses", async () => {
  const given = html("<p>", { status: 201, statusText: "Made", headers: { "content-type": "text/html", "content-length": "3", "x-a": "1", "set-cookie": "a=b" } });
  const response = new HTMLRewriter().transform(given);
  same([response.status, response.statusText, response.headers.get("x-a"), response.headers.get("content-length"), response.headers.getSetCookie()],
    [201, "Made", "1", null, ["a=b"]]);
  response.headers.set("x-a", "2");
  ok(response instanceof Response && !response.bodyUsed && given.body.locked);
  equal(await response.text(), "<p>");
  const empty = new Response(null, { status: 204 });
  equal(new HTMLRewriter().transform(empty), empty);
  throws(() => new HTMLRewriter().transform(given), { name: "TypeError" });
  throws(() => new HTMLRewriter().transform("<p>"), { name: "TypeError" });
  throws(() => new HTMLRewriter().transform(), { name: "TypeError" });
});

test("encodings", async () => {
  const latin = new Response(Uint8Array.of(0x3c, 0x70, 0x3e, 0xe9), { headers: { "content-type": "text/html; charset=iso-8859-1" } });
  let text = "";
  const output = new HTMLRewriter().on("p", { element(e) { e.before("\u00e8\u4e00"); }, text(t) { text += t.text; } }).transform(latin);
  const bytes = await output.bytes();
  equal(text, "\u00e9");
  same([...bytes], [0xe8, ...new TextEncoder().encode("&#19968;"), 0x3c, 0x70, 0x3e, 0xe9]);
  for (const charset of ["utf-16le", "nonsense"]) {
    const other = new Response("x", { headers: { "content-type": `text/html; charset=${charset}` } });
    throws(() => new HTMLRewriter().transform(other), /encoding/);
  }
});

test("selectors", async () => {
  const page = '<div id=i class="a b"><p data-x="one two" lang=en-GB>1</p><p>2<span>3</span></p></div>';
  const matches = async (selector) => {
    const names = [];
    await on(page, selector, (e) => { names.push(e.tagName); });
    return names.join();
  };
  for (const [selector, names] of [
    ["*", "div,p,p,span"], ["p", "p,p"], ["#i", "div"], [".b", "div"], ["div > p", "p,p"], ["div span", "span"], ["div > span", ""],
    ["[data-x]", "p"], ["[data-x~=two]", "p"], ['[data-x^="one"]', "p"], ["[data-x$=two i]", "p"], ["[data-x*='e t']", "p"],
    ["[lang|=en]", "p"], ["p:nth-child(2)", "p"], ["p:first-child", "p"], ["p:not([lang])", "p"], ["span, div", "div,span"],
    ["p:nth-of-type(2n+1)", "p"],
  ]) equal(await matches(selector), names, selector);
  for (const selector of ["", "a:hover", "a + b", "a ~ b", "[", "a::before", ":is(a)", ":not(".repeat(2000), `${"a,".repeat(20_000)}a`]) {
    throws(() => new HTMLRewriter().on(selector, {}), { name: "TypeError", message: /Parser error/ });
  }
  throws(() => new HTMLRewriter().on("a", { element: 1 }), { name: "TypeError" });
  throws(() => new HTMLRewriter().on("a"), { name: "TypeError" });
  throws(() => new HTMLRewriter().onDocument(1), { name: "TypeError" });
  throws(() => HTMLRewriter.prototype.on.call({}, "a", {}), { name: "TypeError" });
});

test("a handler may use rewriters, also this one, and add to it", async () => {
  const rewriter = new HTMLRewriter();
  let depth = 0;
  rewriter.on("p", {
    async element(e) {
      if (++depth > 3) return;
      rewriter.on("p", { element(inner) { inner.setAttribute("late", "1"); } });
      e.before(await rewriter.transform(html("<p>")).text(), { html: true });
    },
  });
  const output = await rewriter.transform(html("<p>x")).text();
  ok(output.endsWith("<p>x") && output.includes('<p late="1">'), output);
  const shared = new HTMLRewriter().on("p", { element(e) { e.after("!"); } });
  const both = await Promise.all([shared.transform(html(chunked("<p></p>", 1))).text(), shared.transform(html("<p></p>")).text()]);
  same(both, ["<p></p>!", "<p></p>!"]);
});

test("a handler that takes the chunk away", async () => {
  const bytes = new TextEncoder().encode(`${"<p>x</p>".repeat(5000)}end`);
  const source = new ReadableStream({ start(c) { c.enqueue(bytes); c.close(); } });
  let count = 0;
  const output = await rewrite(source, (rewriter) => rewriter.on("p", {
    element() { if (++count === 1) structuredClone(bytes, { transfer: [bytes.buffer] }); },
  }));
  ok(count < 5000 && output.startsWith("<p>x</p>"), `${count}`);
});

test("bombs end with an error, and cost no more than that", async () => {
  const endless = (piece) => {
    const bytes = new TextEncoder().encode(piece.repeat(Math.ceil(60_000 / piece.length)));
    let left = 2000;
    return new ReadableStream({ pull(c) { if (left-- > 0) c.enqueue(bytes.slice()); else c.close(); } });
  };
  const pass = (body, selector) => new HTMLRewriter().on(selector, { element() {} }).transform(html(body)).body.pipeTo(new WritableStream());
  await rejects(pass(endless("<b>"), "a b"), /memory limit/i);
  const tag = (piece) => {
    const rest = endless(piece).getReader();
    let first = true;
    return new ReadableStream({
      async pull(c) {
        if (first) { first = false; return c.enqueue(new TextEncoder().encode("<b ")); }
        const { value, done } = await rest.read();
        if (done) c.close();
        else c.enqueue(value);
      },
    });
  };
  await rejects(pass(tag("a "), "b"), /memory/i);
  await rejects(pass(tag("x"), "b"), /memory/i);
  const huge = "&".repeat(8 << 20);
  await rejects(on("<b></b>".repeat(100), "b", (e) => { for (let i = 0; i < 20; i++) e.before(huge); }), /memory|long/i);
});
