import { equal, throws } from "./assert.js";

export async function arguments_and_order() {
  const seen = [];
  await new Promise((resolve) => {
    setTimeout((a, b) => { seen.push(a, b); resolve(); }, 5, "x", "y");
    setTimeout(() => seen.push("zero"), 0);
    setTimeout(() => seen.push("negative"), -5);
    setTimeout(() => seen.push("fraction"), 1.9);
    setTimeout(() => seen.push("nothing"));
    setTimeout(() => seen.push("nan"), NaN);
    queueMicrotask(() => seen.push("microtask"));
  });
  equal(seen[0], "microtask");
  equal([...seen].sort(), ["fraction", "microtask", "nan", "negative", "nothing", "x", "y", "zero"]);
}

export async function clearing() {
  for (const nothing of [undefined, null, NaN, -1, 1e9, "x", {}]) {
    clearTimeout(nothing);
    clearInterval(nothing);
  }
  let fired = 0;
  clearTimeout(setTimeout(() => fired++, 1));
  clearInterval(setTimeout(() => fired++, 1));
  clearTimeout(setInterval(() => fired++, 1));
  await new Promise((resolve) => setTimeout(resolve, 30));
  equal(fired, 0);
}

export async function intervals() {
  let ticks = 0;
  await new Promise((resolve) => {
    const id = setInterval(() => {
      if (++ticks === 3) {
        clearInterval(id);
        resolve();
      }
    }, 1);
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  equal(ticks, 3);
}

export async function bad_handlers() {
  await throws("TypeError", () => setTimeout());
  await throws("TypeError", () => queueMicrotask("x"));
}
