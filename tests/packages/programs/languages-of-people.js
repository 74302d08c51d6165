// i18next and intl-messageformat: plurals, interpolation and formats by Intl.
import i18next from "i18next";
import { IntlMessageFormat } from "intl-messageformat";
import { program } from "../program.js";

export default program(async (same) => {
  const resources = { en: { translation: { hello: "Hello {{name}}", item_one: "{{count}} item", item_other: "{{count}} items", price: "{{n, number(minimumFractionDigits: 2)}}" } }, pl: { translation: { item_one: "{{count}} rzecz", item_few: "{{count}} rzeczy", item_many: "{{count}} rzeczy!" } } };
  const i18n = i18next.createInstance();
  await i18n.init({ lng: "en", fallbackLng: "en", resources, interpolation: { escapeValue: true } });
  same("i18next", [i18n.t("hello", { name: "<b>" }), i18n.t("item", { count: 1 }), i18n.t("item", { count: 5 }), i18n.t("price", { n: 1234.5 }), i18n.t("none")], ["Hello &lt;b&gt;", "1 item", "5 items", "1,234.50", "none"]);
  await i18n.changeLanguage("pl");
  same("plurals", [1, 2, 5].map((count) => i18n.t("item", { count })), ["1 rzecz", "2 rzeczy", "5 rzeczy!"]);
  const message = new IntlMessageFormat("{n, plural, =0 {none} one {# file} other {# files}} on {day, date, ::yyyyMMdd} by {by, select, a {Ada} other {more}}", "en");
  same("intl-messageformat", message.format({ n: 1200, day: new Date(2024, 0, 2), by: "a" }), "1,200 files on 01/02/2024 by Ada");
});
