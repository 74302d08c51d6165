// htmlparser2, parse5 and linkedom: the same page three ways.
import { Parser, DomUtils, parseDocument } from "htmlparser2";
import { parseHTML } from "linkedom";
import * as parse5 from "parse5";
import { program } from "../program.js";

const page = "<!DOCTYPE html><title>T&eacute;st</title><p class=x>one<p>two<table><tr><td>cell";

export default program((same) => {
  const seen = [];
  const parser = new Parser({ onopentag: (name, attributes) => seen.push([name, attributes.class ?? ""]), ontext: (text) => seen.push(text) });
  parser.write(page.slice(0, 40));
  parser.end(page.slice(40));
  same("htmlparser2", seen.filter((it) => Array.isArray(it)).map(([name]) => name), ["title", "p", "p", "table", "tr", "td"]);
  same("dom", DomUtils.textContent(DomUtils.getElementsByTagName("td", parseDocument(page))), "cell");
  same("parse5", parse5.serialize(parse5.parse(page)), '<!DOCTYPE html><html><head><title>T\u00e9st</title></head><body><p class="x">one</p><p>two</p><table><tbody><tr><td>cell</td></tr></tbody></table></body></html>');
  const { document } = parseHTML("<html><body><ul><li>a</li></ul></body></html>");
  const item = document.createElement("li");
  item.textContent = "b & c";
  document.querySelector("ul").append(item);
  let clicked = 0;
  item.addEventListener("click", () => clicked++);
  item.click();
  same("linkedom", [document.querySelector("ul").innerHTML, clicked], ["<li>a</li><li>b &amp; c</li>", 1]);
});
