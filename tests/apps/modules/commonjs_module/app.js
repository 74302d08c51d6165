// What `module` and `require` are beside what they load: packages read the parent, the cache and the code of an error.
const assert = require("node:assert");
const Module = require("node:module");
const child = require("./child.js");

const cases = {
  main() {
    assert.ok(require.main === module && module.parent === null && child.require.main === module);
    assert.ok(child.module.parent === module && module.children[0] === child.module);
    assert.deepStrictEqual([module.id, module.filename, module.path], ["/app.js", "/app.js", "/"]);
  },
  classes() {
    assert.ok(module instanceof Module && module.constructor === Module);
    assert.deepStrictEqual(child.module.paths, ["/node_modules"]);
    assert.strictEqual(module.require("./child"), child);
  },
  cache() {
    assert.strictEqual(require.cache[require.resolve("./child")], child.module);
    delete require.cache["/child.js"];
    const again = require("./child");
    assert.ok(again !== child && again.module !== child.module && Module._cache === require.cache);
    require.cache["/child.js"].exports = "mocked";
    assert.strictEqual(require("./child"), "mocked");
    require.cache["/child.js"] = child.module;
  },
  missing() {
    for (const load of [require, require.resolve, Module.createRequire("/x.js")]) {
      assert.throws(() => load("not-installed"), { code: "MODULE_NOT_FOUND" });
    }
    assert.throws(() => require("./throws"), (error) => error.code === undefined && error.message === "cannot find it");
  },
  watched() {
    const { require: before } = Module.prototype;
    const seen = [];
    Module.prototype.require = function (id) {
      seen.push(id);
      return Reflect.apply(before, this, [id]);
    };
    try {
      require("./child");
    } finally {
      Module.prototype.require = before;
    }
    assert.deepStrictEqual(seen, ["./child"]);
  },
  compiled() {
    const made = new Module("/made.js");
    made._compile("module.exports = [__filename, typeof require('./child').require]", "/made.js");
    assert.deepStrictEqual(made.exports, ["/made.js", "function"]);
  },
  hostile() {
    require.cache["/hostile.js"] = { get exports() { throw new Error("mine"); } };
    assert.throws(() => require("/hostile.js"), Error);
    Reflect.deleteProperty(require.cache, "/hostile.js");
    for (const from of ["/../../etc/x.js", "/proc/x.js"]) {
      const forged = Object.assign(new Module(from), { filename: from });
      for (const target of ["./passwd", "../etc/passwd", "/etc/passwd"]) assert.throws(() => forged.require(target));
    }
  },
};

module.exports = {
  fetch() {
    return new Response(Object.keys(cases).map((name) => {
      try {
        cases[name]();
        return name;
      } catch (error) {
        return `${name}: ${error.stack}`;
      }
    }).join(","));
  },
};
