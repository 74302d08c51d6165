// fast-xml-parser and xml2js: reading and building XML.
import { XMLBuilder, XMLParser, XMLValidator } from "fast-xml-parser";
import { Builder, parseStringPromise } from "xml2js";
import { program } from "../program.js";

const text = '<?xml version="1.0"?><shop open="yes"><item id="1">Tea &amp; milk</item><item id="2"><![CDATA[<raw>]]></item><n>4.50</n></shop>';

export default program(async (same) => {
  const parsed = new XMLParser({ ignoreAttributes: false }).parse(text);
  same("fast-xml-parser", parsed.shop, { item: [{ "#text": "Tea & milk", "@_id": "1" }, { "#text": "<raw>", "@_id": "2" }], n: 4.5, "@_open": "yes" });
  same("built", new XMLBuilder({ ignoreAttributes: false }).build({ a: { "@_x": "1", b: ["1", "<"] } }), '<a x="1"><b>1</b><b>&lt;</b></a>');
  same("validated", XMLValidator.validate("<a><b></a>").err.code, "InvalidTag");
  const tree = await parseStringPromise(text, { explicitArray: false });
  same("xml2js", [tree.shop.$, tree.shop.item[0]._], [{ open: "yes" }, "Tea & milk"]);
  same("built by xml2js", new Builder({ headless: true, renderOpts: { pretty: false } }).buildObject({ a: { $: { x: 1 }, b: ["1", "2"] } }), '<a x="1"><b>1</b><b>2</b></a>');
  same("malformed", (await parseStringPromise("<a>").catch((error) => error.message)).split("\n")[0], "Unclosed root tag");
});
