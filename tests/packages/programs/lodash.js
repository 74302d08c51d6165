// lodash, underscore and ramda: collections, functions, templates and lenses.
import _ from "lodash";
import * as R from "ramda";
import underscore from "underscore";
import { program } from "../program.js";

export default program(async (same) => {
  same("chain", _.chain([3, 1, 2, 2]).uniq().sortBy().map((n) => n * 2).value(), [2, 4, 6]);
  same("deep", [_.get({ a: [{ b: 1 }] }, "a[0].b"), _.merge({ a: { x: 1 } }, { a: { y: 2 } }), _.isEqual(new Map([[1, { a: 1 }]]), new Map([[1, { a: 1 }]]))], [1, { a: { x: 1, y: 2 } }, true]);
  same("template", _.template("<% _.forEach(list, (n) => { %><i><%- n %></i><% }) %>")({ list: [1, "<"] }), "<i>1</i><i>&lt;</i>");
  let calls = 0;
  const debounced = _.debounce(() => ++calls, 5);
  debounced();
  debounced();
  await new Promise((resolve) => setTimeout(resolve, 40));
  same("debounced", calls, 1);
  same("clone", [_.cloneDeep({ at: new Date(0), re: /x/g, buffer: new Uint8Array([1]) }).buffer[0], _.camelCase("foo bar-baz"), _.padStart("1", 3, "0")], [1, "fooBarBaz", "001"]);
  same("underscore", underscore.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even")), { odd: [1, 3], even: [2] });
  const total = R.pipe(R.filter(R.propEq("a", "kind")), R.map(R.prop("n")), R.sum);
  same("ramda", total([{ kind: "a", n: 1 }, { kind: "b", n: 5 }, { kind: "a", n: 2 }]), 3);
  same("lens", R.over(R.lensPath(["a", 0]), R.inc, { a: [1] }), { a: [2] });
});
