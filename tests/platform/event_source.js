// Its own server, too: /events answers with a stream that ends twice.
import harness, { equal, same, test, throws } from "./harness.js";

let connections = 0;

function events(request) {
  connections++;
  const text = connections === 1
    ? ": hello\r\nretry: 1\n\ndata: one\ndata: more\n\nevent: named\rid: 7\rdata:two\r\rdata: lost"
    : `data: again ${request.headers.get("last-event-id")}\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/events") return events(request);
    if (pathname === "/none") return new Response("text");
    return harness.fetch(request);
  },
};

test("events come, and the connection is made again with the last id", async (request) => {
  const source = new EventSource(new URL("/events", request.url));
  equal(source.readyState, EventSource.CONNECTING);
  const seen = [];
  await new Promise((resolve) => {
    source.onopen = () => seen.push("open");
    source.onerror = () => seen.push(`error ${source.readyState}`);
    source.addEventListener("named", ({ data, lastEventId }) => seen.push(`named ${data} ${lastEventId}`));
    source.onmessage = ({ data, origin }) => {
      equal(origin, new URL(request.url).origin);
      seen.push(data);
      if (data.startsWith("again")) resolve();
    };
  });
  source.close();
  equal(source.readyState, EventSource.CLOSED);
  same(seen, ["open", "one\nmore", "named two 7", "error 0", "open", "again 7"]);
});

test("what is no event stream ends it", async (request) => {
  const source = new EventSource(new URL("/none", request.url));
  await new Promise((resolve) => { source.onerror = resolve; });
  equal(source.readyState, EventSource.CLOSED);
  throws(() => new EventSource("http://["), { name: "SyntaxError" });
});
