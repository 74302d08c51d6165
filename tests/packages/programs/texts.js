// validator, sanitize-html, xss, he, entities, slugify and diff.
import { createPatch, diffWords } from "diff";
import { decodeHTML, encodeXML } from "entities";
import he from "he";
import sanitize from "sanitize-html";
import slugify from "slugify";
import validator from "validator";
import xss from "xss";
import { program } from "../program.js";

export default program((same) => {
  same("validator", [validator.isEmail("a@b.co"), validator.isURL("http://x"), validator.isCreditCard("4111111111111111"), validator.isIBAN("DE89370400440532013000"), validator.escape("<a>"), validator.normalizeEmail("A.B+c@gmail.com")], [true, false, true, true, "&lt;a&gt;", "ab@gmail.com"]);
  same("sanitize-html", sanitize('<p onclick="x()">a<script>b</script><a href="javascript:x">c</a><b>d</b>', { allowedTags: ["p", "a"], allowedAttributes: { a: ["href"] } }), "<p>a<a>c</a>d</p>");
  same("xss", xss('<a href="#" onload="x">y</a><script>z</script>'), '<a href="#">y</a>&lt;script&gt;z&lt;/script&gt;');
  same("he", [he.encode("\u00e9 & \ud83d\ude00", { useNamedReferences: true }), he.decode("&eacute;&#x1F600;&notin")], ["&eacute; &amp; &#x1F600;", "\u00e9\ud83d\ude00\u00acin"]);
  same("entities", [decodeHTML("&lt;&euro;"), encodeXML("<\u00e9>")], ["<\u20ac", "&lt;&#xe9;&gt;"]);
  same("slugify", slugify("Gr\u00fc\u00dfe & mehr!", { lower: true, strict: true }), "grusse-and-mehr");
  same("diff", diffWords("the red fox", "the blue fox").map(({ value, added, removed }) => (added ? "+" : removed ? "-" : "") + value), ["the ", "-red", "+blue", " fox"]);
  same("patch", createPatch("x", "a\nb\n", "a\nc\n").includes("-b\n+c\n"), true);
});
