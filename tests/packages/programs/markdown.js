// marked, markdown-it, remark and gray-matter: pages of Markdown.
import matter from "gray-matter";
import MarkdownIt from "markdown-it";
import { marked, Marked } from "marked";
import { remark } from "remark";
import remarkHtml from "remark-html";
import { program } from "../program.js";

export default program(async (same) => {
  same("marked", marked.parse("# Hi\n\n- *a*\n- `b`\n\n| x | y |\n|---|--:|\n| 1 | 2 |\n").replace(/\n/g, ""), '<h1>Hi</h1><ul><li><em>a</em></li><li><code>b</code></li></ul><table><thead><tr><th>x</th><th align="right">y</th></tr></thead><tbody><tr><td>1</td><td align="right">2</td></tr></tbody></table>');
  const custom = new Marked({ renderer: { heading: ({ tokens, depth }) => `<h${depth + 1}>${tokens[0].text}</h${depth + 1}>` } });
  same("renderer", custom.parse("# Hi"), "<h2>Hi</h2>");
  same("markdown-it", new MarkdownIt({ linkify: true, typographer: true }).render('"see" https://example.com <b>'), "<p>\u201csee\u201d <a href=\"https://example.com\">https://example.com</a> &lt;b&gt;</p>\n");
  same("remark", String(await remark().use(remarkHtml).process("**bold** <script>")), "<p><strong>bold</strong> </p>\n");
  const page = matter("---\ntitle: A page\ntags: [a, b]\n---\nbody");
  same("gray-matter", [page.data, page.content], [{ title: "A page", tags: ["a", "b"] }, "body"]);
  same("stringify", matter.stringify("body", { title: "x" }), "---\ntitle: x\n---\nbody\n");
});
