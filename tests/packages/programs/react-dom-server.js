// react-dom/server: strings, static markup, streams for the web and for Node.
import { PassThrough } from "node:stream";
import { createElement as h, Suspense, use, useId, useState, createContext, useContext } from "react";
import { renderToReadableStream, renderToStaticMarkup, renderToString } from "react-dom/server";
import { renderToPipeableStream } from "react-dom/server.node";
import { program, text } from "../program.js";

const Theme = createContext("light");
function Page({ name }) {
  const [count] = useState(3);
  return h("main", { className: useContext(Theme), style: { marginTop: 4 } }, h("label", { htmlFor: useId() }, `Hello <${name}>`), h("b", null, count));
}
function Later({ promise }) {
  return h("i", null, use(promise));
}

export default program(async (same) => {
  same("static", renderToStaticMarkup(h(Theme.Provider, { value: "dark" }, h(Page, { name: "you" }))), '<main class="dark" style="margin-top:4px"><label for="_R_0_">Hello &lt;you&gt;</label><b>3</b></main>');
  same("string", renderToString(h("p", null, "a", "b")), "<p>a<!-- -->b</p>");
  const tree = () => h(Suspense, { fallback: "waiting" }, h(Later, { promise: new Promise((resolve) => setTimeout(resolve, 5, "arrived")) }));
  const web = await text(await renderToReadableStream(tree()));
  same("web stream", web.includes("<i>arrived</i>"), true);
  const pass = new PassThrough();
  const { pipe } = renderToPipeableStream(tree(), { onShellReady: () => pipe(pass) });
  same("node stream", (await text(pass)).includes("<i>arrived</i>"), true);
});
