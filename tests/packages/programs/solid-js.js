// solid-js: signals and rendering to strings, without its compiler.
import { createMemo, createRoot, createSignal, For } from "solid-js";
import { createComponent, escape, renderToString, renderToStringAsync, ssr } from "solid-js/web";
import { program } from "../program.js";

function List(props) {
  return ssr(["<ul>", "</ul>"], escape(createComponent(For, { each: props.items, children: (item) => ssr(["<li>", "</li>"], escape(item)) })));
}

export default program(async (same) => {
  same("string", renderToString(() => createComponent(List, { items: ["a", "<b>"] })), "<ul><li>a</li><li>&lt;b></li></ul>");
  same("async", await renderToStringAsync(() => createComponent(List, { items: [1] })), "<ul><li>1</li></ul>");
  same("memo", createRoot(() => {
    const [count] = createSignal(2);
    return createMemo(() => count() * 2)();
  }), 4);
});
