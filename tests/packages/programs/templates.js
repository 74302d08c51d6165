// handlebars, mustache, ejs, pug, nunjucks and liquidjs: one page in six languages.
import ejs from "ejs";
import Handlebars from "handlebars";
import { Liquid } from "liquidjs";
import Mustache from "mustache";
import nunjucks from "nunjucks";
import pug from "pug";
import { program } from "../program.js";

const data = { title: "a <b>", items: [{ n: 1 }, { n: 2 }] };
const page = "<h1>a &lt;b&gt;</h1><i>1</i><i>2</i>";

export default program(async (same) => {
  Handlebars.registerHelper("twice", (n) => n * 2);
  same("handlebars", Handlebars.compile("<h1>{{title}}</h1>{{#each items}}<i>{{n}}</i>{{/each}}")(data), page);
  same("helper", Handlebars.compile("{{#if items}}{{twice 4}}{{/if}}")(data), "8");
  same("mustache", Mustache.render("<h1>{{title}}</h1>{{#items}}<i>{{n}}</i>{{/items}}{{>p}}", data, { p: "{{^none}}{{/none}}" }), page);
  same("ejs", ejs.render("<h1><%= title %></h1><% for (const { n } of items) { %><i><%= n %></i><% } %>", data).replace("&#34;", '"'), page);
  same("ejs async", await ejs.render("<%= await x() %>", { x: async () => 5 }, { async: true }), "5");
  same("pug", pug.render("h1= title\neach item in items\n  i= item.n\n", data), page);
  same("nunjucks", nunjucks.renderString("<h1>{{ title | escape }}</h1>{% for item in items %}<i>{{ item.n }}</i>{% endfor %}", data), page);
  const environment = new nunjucks.Environment(null, { autoescape: true });
  same("filters", environment.renderString("{{ items | length }} {{ title | upper }}", data), "2 A &lt;B&gt;");
  same("liquidjs", await new Liquid({ outputEscape: "escape" }).parseAndRender("<h1>{{ title }}</h1>{% for item in items %}<i>{{ item.n }}</i>{% endfor %}", data), page);
});
