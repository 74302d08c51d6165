// cheerio: selectors, changes, extraction and serialization.
import * as cheerio from "cheerio";
import { program } from "../program.js";

export default program((same) => {
  const $ = cheerio.load('<ul id="list"><li class="a">one</li><li data-x="1">two &amp; three</li></ul><form><input name="q" value="v"></form>');
  same("select", [$("li.a").text(), $("li:nth-child(2)").data("x"), $("#list > li").length], ["one", 1, 2]);
  $("li").first().addClass("b").after("<li>new</li>");
  same("changed", $("#list").html(), '<li class="a b">one</li><li>new</li><li data-x="1">two &amp; three</li>');
  same("map", $("li").map((_, element) => $(element).text().length).get(), [3, 3, 11]);
  same("form", $("form").serialize(), "q=v");
  same("extract", $.extract({ items: [{ selector: "li", value: "class" }], last: "li:last-child" }).last, "two & three");
  same("xml", cheerio.load("<a><b/>x</a>", { xml: true }).xml(), "<a><b/>x</a>");
});
