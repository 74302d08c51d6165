// svelte: a component compiled and rendered on the server.
import { compile } from "svelte/compiler";
import { writable, get } from "svelte/store";
import { render } from "svelte/server";
import * as internal from "svelte/internal/server";
import { program } from "../program.js";

const source = `<script>
  let { name, items } = $props();
  let loud = $derived(name.toUpperCase());
</script>
<svelte:head><title>{name}</title></svelte:head>
{#if items.length}<ul>{#each items as item}<li>{item}</li>{/each}</ul>{/if}
<p class="greeting">Hello {loud}</p>
<style>.greeting { color: red }</style>`;

export default program((same) => {
  const { js, css } = compile(source, { generate: "server", filename: "App.svelte" });
  same("css", css.code.includes("color: red"), true);
  const body = js.code.replace(/^import .*$/gm, "").replace("export default function", "return function");
  const App = new Function("$", body)(internal);
  const page = render(App, { props: { name: "a<b", items: [1, 2] } });
  same("head", page.head.includes("<title>a&lt;b</title>"), true);
  same("body", page.body.replace(/<!--.*?-->/g, "").replace(/ class="[^"]*"/, "").trim().replace(/\s+</g, "<"), "<ul><li>1</li><li>2</li></ul><p>Hello A&lt;B</p>");
  const store = writable(1);
  store.update((n) => n + 1);
  same("store", get(store), 2);
});
