// find-my-way: parameters, wildcards, constraints and what the router prints.
import findMyWay from "find-my-way";
import { program } from "../program.js";

export default program((same) => {
  const router = findMyWay({ defaultRoute: () => "default", ignoreTrailingSlash: true });
  router.on("GET", "/users/:id", () => "user", { kind: "user" });
  router.on("GET", "/files/*", () => "files");
  router.on("GET", "/at/:hour(^\\d+)h:minute(^\\d+)m", () => "time");
  router.on(["PUT", "DELETE"], "/users/:id", () => "changed");
  router.on("GET", "/v", { constraints: { version: "1.2.0" } }, () => "one");
  router.on("GET", "/v", { constraints: { version: "2.0.0" } }, () => "two");
  const found = router.find("GET", "/users/a%20b/");
  same("parameters", [found.params, found.store], [{ id: "a b" }, { kind: "user" }]);
  same("wildcard", router.find("GET", "/files/a/b.txt").params, { "*": "a/b.txt" });
  same("pattern", router.find("GET", "/at/10h30m").params, { hour: "10", minute: "30" });
  same("no match of a pattern", router.find("GET", "/at/xh30m"), null);
  same("version", router.find("GET", "/v", { version: "1.x" }).handler(), "one");
  same("lookup", router.lookup({ method: "PUT", url: "/users/1?x=1", headers: {} }, null), "changed");
  same("default", router.lookup({ method: "GET", url: "/none", headers: {} }, null), "default");
  same("has", [router.hasRoute("GET", "/files/*"), router.hasRoute("POST", "/files/*")], [true, false]);
  router.off("GET", "/files/*");
  same("off", router.find("GET", "/files/a"), null);
});
