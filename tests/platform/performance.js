import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

const names = (entries) => entries.map(({ name }) => name);

test("marks and measures", () => {
  const start = performance.mark("start", { startTime: 5, detail: { n: 1 } });
  ok(start instanceof PerformanceMark && start instanceof PerformanceEntry);
  same([start.name, start.entryType, start.startTime, start.duration], ["start", "mark", 5, 0]);
  performance.mark("end", { startTime: 12 });
  const measure = performance.measure("both", "start", "end");
  same([measure.startTime, measure.duration, measure.detail], [5, 7, null]);
  equal(performance.measure("length", { start: 1, duration: 2 }).duration, 2);
  same(measure.toJSON(), { name: "both", entryType: "measure", startTime: 5, duration: 7, detail: null });
  same(names(performance.getEntriesByType("mark")), ["start", "end"]);
  same(names(performance.getEntries()), ["length", "start", "both", "end"]);
  performance.clearMarks("start");
  same(names(performance.getEntriesByName("start")), []);
  throws(() => performance.measure("x", "start"), { name: "SyntaxError" });
  throws(() => performance.measure("x", { duration: 1 }), { name: "TypeError" });
  performance.clearMarks();
  performance.clearMeasures();
  same(performance.getEntries(), []);
});

test("a detail is a clone", () => {
  const detail = { list: [1] };
  const mark = performance.mark("clone", { detail });
  detail.list.push(2);
  same(mark.detail, { list: [1] });
  throws(() => performance.mark("clone", { detail: () => {} }), { name: "DataCloneError" });
  performance.clearMarks();
});

test("observers are told, and of what was before too", async () => {
  performance.mark("before");
  const seen = await new Promise((resolve) => {
    const observer = new PerformanceObserver((list, self) => {
      equal(self, observer);
      resolve(names(list.getEntries()));
    });
    observer.observe({ type: "mark", buffered: true });
    performance.mark("after");
    performance.measure("not asked for");
  });
  same(seen, ["before", "after"]);
  same(PerformanceObserver.supportedEntryTypes, ["mark", "measure"]);
  const observer = new PerformanceObserver(() => {});
  throws(() => observer.observe({}), { name: "TypeError" });
  observer.observe({ entryTypes: ["measure"] });
  performance.measure("taken");
  same(names(observer.takeRecords()), ["taken"]);
  throws(() => observer.observe({ type: "mark" }), { name: "InvalidModificationError" });
  observer.disconnect();
  performance.clearMarks();
  performance.clearMeasures();
});

test("what apps cannot make", () => {
  throws(() => new Performance(), { name: "TypeError" });
  throws(() => new PerformanceEntry(), { name: "TypeError" });
  throws(() => new PerformanceMeasure("a"), { name: "TypeError" });
});
