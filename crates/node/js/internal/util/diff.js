"use strict";
// The differences of two lists of lines: Myers's algorithm (An O(ND) Difference Algorithm and Its Variations, 1986).
// [operation, line] in order: 0 both have it, 1 only `actual`, -1 only `expected`.

const { ERR_OUT_OF_RANGE } = require("internal/errors");

const DELETE = -1, NOP = 0, INSERT = 1;
/** The trace has an entry for each step of each distance: what is this different is not worth comparing. */
const MAX_DISTANCE = 2000;

/** `same`: whether two lines are; `pick`: which of the two stands for both. */
function myersDiff(actual, expected, same = (left, right) => left === right, pick = (left) => left) {
  const [n, m] = [actual.length, expected.length];
  const most = n + m;
  if (most > 2 ** 31 - 1) throw new ERR_OUT_OF_RANGE("myersDiff input size", "< 2^31", most);
  const furthest = new Map([[1, 0]]);
  const trace = [];
  for (let distance = 0; distance <= most; distance++) {
    if (distance > MAX_DISTANCE) return wholeDiff(actual, expected);
    trace.push(new Map(furthest));
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      const down = diagonal === -distance ||
        (diagonal !== distance && (furthest.get(diagonal - 1) ?? 0) < (furthest.get(diagonal + 1) ?? 0));
      let x = down ? furthest.get(diagonal + 1) ?? 0 : (furthest.get(diagonal - 1) ?? 0) + 1;
      let y = x - diagonal;
      while (x < n && y < m && same(actual[x], expected[y])) {
        x++;
        y++;
      }
      furthest.set(diagonal, x);
      if (x >= n && y >= m) return walkBack(trace, actual, expected, pick);
    }
  }
  return [];
}

function wholeDiff(actual, expected) {
  return [...actual.map((line) => [INSERT, line]), ...expected.map((line) => [DELETE, line])];
}

function walkBack(trace, actual, expected, pick) {
  const result = [];
  let x = actual.length, y = expected.length;
  for (let distance = trace.length - 1; distance >= 0; distance--) {
    const furthest = trace[distance];
    const diagonal = x - y;
    const down = diagonal === -distance ||
      (diagonal !== distance && (furthest.get(diagonal - 1) ?? 0) < (furthest.get(diagonal + 1) ?? 0));
    const before = down ? diagonal + 1 : diagonal - 1;
    const beforeX = furthest.get(before) ?? 0;
    const beforeY = beforeX - before;
    while (x > beforeX && y > beforeY) {
      x--;
      y--;
      result.push([NOP, pick(actual[x], expected[y])]);
    }
    if (distance === 0) break;
    if (x > beforeX) result.push([INSERT, actual[--x]]);
    else result.push([DELETE, expected[--y]]);
  }
  return result.reverse();
}

/** util.diff: of two texts by their characters, or of two lists; empty where they are the same. */
function diff(actual, expected) {
  if (actual === expected) return [];
  return myersDiff([...actual], [...expected]);
}

module.exports = { DELETE, INSERT, NOP, diff, myersDiff };
