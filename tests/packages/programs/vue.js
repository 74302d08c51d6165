// vue: components rendered by its server renderer, with templates compiled at run time.
import { compileTemplate, parse, compileScript } from "vue/compiler-sfc";
import { computed, createSSRApp, h, provide, inject, ref, onServerPrefetch } from "vue";
import { renderToString, renderToWebStream } from "vue/server-renderer";
import { program, text } from "../program.js";

const Item = { props: ["name"], setup: (props) => () => h("li", { class: { on: true } }, `${inject("mark")} ${props.name}`) };
const App = {
  components: { Item },
  setup() {
    provide("mark", "*");
    const names = ref(["a"]);
    onServerPrefetch(async () => names.value.push("b & c"));
    return { names, count: computed(() => names.value.length) };
  },
  template: `<ul :data-count="count"><Item v-for="name in names" :key="name" :name="name" /></ul>`,
};

export default program(async (same) => {
  const html = '<ul data-count="2"><!--[--><li class="on">* a</li><li class="on">* b &amp; c</li><!--]--></ul>';
  same("string", await renderToString(createSSRApp(App)), html);
  same("stream", await text(renderToWebStream(createSSRApp(App))), html);
  const { descriptor } = parse("<script setup>const n = 1</script><template><p>{{ n }}</p></template>");
  same("script", compileScript(descriptor, { id: "x" }).bindings, { n: "literal-const" });
  same("template", compileTemplate({ source: "<p>{{ n }}</p>", filename: "x.vue", id: "x", ssr: true, ssrCssVars: [] }).code.includes("ssrInterpolate"), true);
});
