// preact-render-to-string: components, hooks, context and signals of time.
import { createContext, h } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";
import renderToString from "preact-render-to-string";
import { program } from "../program.js";

const Name = createContext("none");
function Greeting({ loud }) {
  const [mark] = useState("!");
  const name = useContext(Name);
  const text = useMemo(() => (loud ? name.toUpperCase() : name), [loud, name]);
  return h("p", { class: "x", onClick() {}, hidden: true, dangerouslySetInnerHTML: undefined }, "Hello ", text, mark);
}

export default program((same) => {
  same("rendered", renderToString(h(Name.Provider, { value: "a<b" }, h(Greeting, { loud: true }))), '<p class="x" hidden>Hello A&lt;B!</p>');
  same("list", renderToString(h("ul", null, [1, 2].map((n) => h("li", { key: n }, n)))), "<ul><li>1</li><li>2</li></ul>");
});
