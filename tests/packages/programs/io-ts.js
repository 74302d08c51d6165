// io-ts on fp-ts: codecs and what they report.
import { isRight } from "fp-ts/lib/Either.js";
import { pipe } from "fp-ts/lib/function.js";
import * as O from "fp-ts/lib/Option.js";
import * as t from "io-ts";
import reporter from "io-ts/lib/PathReporter.js";
import { program } from "../program.js";

export default program((same) => {
  const User = t.intersection([t.type({ id: t.number, name: t.string }), t.partial({ tags: t.array(t.string) })]);
  const good = User.decode({ id: 1, name: "Ada", tags: ["x"] });
  same("right", [isRight(good), good.right], [true, { id: 1, name: "Ada", tags: ["x"] }]);
  const bad = User.decode({ id: "1", name: "Ada" });
  same("report", reporter.PathReporter.report(bad)[0].startsWith('Invalid value "1" supplied to'), true);
  const first = (list) => (list.length === 0 ? O.none : O.some(list[0]));
  same("option", [[3], []].map((list) => pipe(list, first, O.map((n) => n * 2), O.getOrElse(() => 0))), [6, 0]);
});
