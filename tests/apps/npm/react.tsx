import { Suspense, use } from "react";
import { renderToReadableStream, renderToString } from "react-dom/server";

const wait = (ms: number, value: string) => new Promise<string>((resolve) => setTimeout(resolve, ms, value));

function Page({ name, items }: { name: string; items: string[] }) {
  return (
    <main className="page">
      <h1>{`Hello, ${name}!`}</h1>
      <ul>{items.map((item) => <li key={item}>{item}</li>)}</ul>
    </main>
  );
}

const Slow = ({ promise }: { promise: Promise<string> }) => <p>{use(promise)}</p>;

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const page = <Page name={searchParams.get("name") ?? "guest"} items={["one", "two"]} />;
    const headers = { "content-type": "text/html; charset=utf-8" };
    if (pathname === "/string") return new Response(renderToString(page), { headers });
    const stream = await renderToReadableStream(
      <html>
        <body>
          {page}
          <Suspense fallback={<p>still loading</p>}>
            <Slow promise={wait(20, "slow part")} />
          </Suspense>
        </body>
      </html>,
    );
    return new Response(stream, { headers });
  },
};
