// immer, immutable, deepmerge and fast-deep-equal.
import deepmerge from "deepmerge";
import equal from "fast-deep-equal";
import { applyPatches, enableMapSet, enablePatches, produce, produceWithPatches } from "immer";
import { fromJS, is, List, Map as ImmutableMap, Record, Set as ImmutableSet } from "immutable";
import { program } from "../program.js";

export default program((same) => {
  enableMapSet();
  enablePatches();
  const before = { list: [{ n: 1 }, { n: 2 }], tags: new Set(["a"]) };
  const after = produce(before, (draft) => {
    draft.list[0].n++;
    draft.tags.add("b");
  });
  same("immer", [after.list[0].n, before.list[0].n, after.list[1] === before.list[1], Object.isFrozen(after), after.tags.size], [2, 1, true, true, 2]);
  const [next, patches, inverse] = produceWithPatches({ a: 1 }, (draft) => void (draft.b = 2));
  same("patches", [patches, applyPatches(next, inverse)], [[{ op: "add", path: ["b"], value: 2 }], { a: 1 }]);
  const map = fromJS({ a: { b: [1, 2] } }).updateIn(["a", "b"], (list) => list.push(3));
  same("immutable", [map.toJS(), is(ImmutableMap({ a: 1 }), ImmutableMap({ a: 1 })), List([3, 1, 2]).sort().toArray(), ImmutableSet([1, 1]).size], [{ a: { b: [1, 2, 3] } }, true, [1, 2, 3], 1]);
  const Point = Record({ x: 0, y: 0 });
  same("record", new Point({ x: 1 }).set("y", 2).toObject(), { x: 1, y: 2 });
  same("deepmerge", deepmerge({ a: [1], b: { c: 1 } }, { a: [2], b: { d: 2 } }), { a: [1, 2], b: { c: 1, d: 2 } });
  same("fast-deep-equal", [equal({ a: [1, { b: null }] }, { a: [1, { b: null }] }), equal([1], [2])], [true, false]);
});
