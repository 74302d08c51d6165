// async, p-limit, p-queue, p-retry, retry, bottleneck and bluebird.
import async from "async";
import Promise_ from "bluebird";
import Bottleneck from "bottleneck";
import pLimit from "p-limit";
import PQueue from "p-queue";
import pRetry, { AbortError } from "p-retry";
import retry from "retry";
import { program } from "../program.js";

const soon = (value) => new Promise((resolve) => setTimeout(resolve, 1, value));

export default program(async (same) => {
  same("async", await async.mapLimit([1, 2, 3], 2, async (n) => soon(n * 2)), [2, 4, 6]);
  same("auto", await async.auto({ a: async () => 1, b: ["a", async ({ a }) => a + 1] }), { a: 1, b: 2 });
  const queue = async.queue(async (n) => (seen.push(n), soon()), 1);
  const seen = [];
  queue.push([1, 2]);
  queue.unshift(0);
  await queue.drain();
  same("queue", seen, [0, 1, 2]);
  let [running, most] = [0, 0];
  const limit = pLimit(2);
  await Promise.all([1, 2, 3, 4].map(() => limit(async () => {
    most = Math.max(most, ++running);
    await soon();
    running--;
  })));
  same("p-limit", most, 2);
  const order = [];
  const jobs = new PQueue({ concurrency: 1 });
  jobs.add(() => soon().then(() => order.push("first")));
  jobs.add(async () => order.push("low"), { priority: 0 });
  jobs.add(async () => order.push("high"), { priority: 1 });
  await jobs.onIdle();
  same("p-queue", order, ["first", "high", "low"]);
  same("p-retry", await pRetry((attempt) => (attempt < 3 ? Promise.reject(new Error("no")) : attempt), { minTimeout: 1 }), 3);
  same("aborted", await pRetry(() => { throw new AbortError("stop"); }, { retries: 3 }).catch((error) => error.message), "stop");
  const operation = retry.operation({ retries: 3, minTimeout: 1 });
  same("retry", await new Promise((resolve) => operation.attempt((attempt) => operation.retry(attempt < 3 ? new Error("no") : null) || resolve(attempt))), 3);
  const limiter = new Bottleneck({ maxConcurrent: 1, minTime: 1 });
  same("bottleneck", await Promise.all([1, 2].map((n) => limiter.schedule(() => soon(n)))), [1, 2]);
  same("bluebird", await Promise_.map([1, 2, 3], (n) => Promise_.delay(1).then(() => n * n), { concurrency: 2 }).filter((n) => n > 1), [4, 9]);
  same("timeout", await Promise_.delay(1000).timeout(2, "slow").catch(Promise_.TimeoutError, (error) => error.message), "slow");
  same("promisify", await Promise_.promisify((n, done) => setImmediate(done, null, n + 1))(1), 2);
});
