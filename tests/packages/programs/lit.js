// lit with @lit-labs/ssr: templates and custom elements on the server.
import { render } from "@lit-labs/ssr";
import { collectResult } from "@lit-labs/ssr/lib/render-result.js";
import { css, html, LitElement } from "lit";
import { classMap } from "lit/directives/class-map.js";
import { repeat } from "lit/directives/repeat.js";
import { program } from "../program.js";

class Greeting extends LitElement {
  static properties = { name: {} };
  static styles = css`p { color: red; }`;
  render() {
    return html`<p>Hello ${this.name}</p>`;
  }
}
customElements.define("x-greeting", Greeting);

export default program(async (same) => {
  const page = await collectResult(render(html`<ul class=${classMap({ on: true, off: false })}>${repeat([1, 2], (n) => html`<li>${n}</li>`)}</ul>`));
  same("template", page.replace(/<!--.*?-->/g, ""), '<ul class=" on "><li>1</li><li>2</li></ul>');
  const element = await collectResult(render(html`<x-greeting name="a<b"></x-greeting>`));
  const plain = element.replace(/<!--.*?-->/g, "");
  same("element", [plain.includes('<template shadowroot="open" shadowrootmode="open">'), plain.includes("<p>Hello a&lt;b</p>"), plain.includes("color: red")], [true, true, true]);
});
