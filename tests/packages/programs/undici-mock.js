// undici's mock agent, which answers without a network.
import { MockAgent, fetch } from "undici";
import { program } from "../program.js";

export default program(async (same) => {
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent.get("http://mocked").intercept({ path: "/x" }).reply(201, { a: 1 });
  const mocked = await fetch("http://mocked/x", { dispatcher: agent });
  same("mock", [mocked.status, await mocked.json()], [201, { a: 1 }]);
});
