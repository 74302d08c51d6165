// Pages rendered on the server with React, streamed: the slow part comes when it is there.
import { Suspense, use } from "react";
import { renderToReadableStream } from "react-dom/server";

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Something that takes its time, such as a database. */
async function visitors(): Promise<string[]> {
  await pause(1000);
  return ["Ada", "Grace", "Margaret"];
}

function Visitors({ promise }: { promise: Promise<string[]> }) {
  return <ul>{use(promise).map((name) => <li key={name}>{name}</li>)}</ul>;
}

function Page({ name }: { name: string }) {
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <title>Rendered by Hearth</title>
      </head>
      <body>
        <h1>{`Hello, ${name}!`}</h1>
        <form>
          <input name="name" placeholder="your name" /> <button>Say hello</button>
        </form>
        <h2>Visitors</h2>
        <Suspense fallback={<p>One moment…</p>}>
          <Visitors promise={visitors()} />
        </Suspense>
      </body>
    </html>
  );
}

export default {
  async fetch(request: Request): Promise<Response> {
    const name = new URL(request.url).searchParams.get("name") || "world";
    const stream = await renderToReadableStream(<Page name={name} />, { signal: request.signal });
    return new Response(stream, { headers: { "content-type": "text/html; charset=utf-8" } });
  },
};
