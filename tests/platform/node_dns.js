import dns from "node:dns";
import promises from "node:dns/promises";
import { equal, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

test("an address is its own answer", async () => {
  same(await promises.lookup("127.0.0.1"), { address: "127.0.0.1", family: 4 });
  same(await promises.lookup("::1", { all: true }), [{ address: "::1", family: 6 }]);
  same(await new Promise((resolve) => dns.lookup("::1", (...values) => resolve(values))), [null, "::1", 6]);
});

test("names are looked up by the system", async () => {
  const found = await promises.lookup("localhost", { family: 4 });
  same(found, { address: "127.0.0.1", family: 4 });
  same(await promises.resolve4("localhost"), ["127.0.0.1"]);
  const error = await rejects(promises.lookup("name.invalid"), { code: "ENOTFOUND", hostname: "name.invalid", syscall: "getaddrinfo" });
  equal(error.message, "getaddrinfo ENOTFOUND name.invalid");
});

test("no name is asked for that is none", async () => {
  for (const name of ["a b", "a/b", "user@host", "[::1]", "a\0b"]) await rejects(promises.lookup(name), { code: "ENOTFOUND" });
});

test("wrong arguments are refused at once", () => {
  throws(() => dns.lookup("a"), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => dns.lookup("a", 5, () => {}), { code: "ERR_INVALID_ARG_VALUE" });
  throws(() => dns.lookup({}, () => {}), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => dns.resolve("a", "NOPE", () => {}), { code: "ERR_INVALID_ARG_VALUE" });
});

test("what is not there says so", () => {
  throws(() => dns.resolveMx("a", () => {}), /resolveMx is not supported in Hearth/);
  throws(() => dns.setServers(["1.1.1.1"]), /setServers is not supported/);
});
