import { assert, equal, throws } from "./assert.js";

export async function messages_come_in_order() {
  const { port1, port2 } = new MessageChannel();
  const seen = [];
  const all = new Promise((resolve) => {
    port2.onmessage = (event) => {
      assert(event instanceof MessageEvent && event.target === port2);
      seen.push(event.data);
      if (seen.length === 3) resolve();
    };
  });
  for (const value of [1, { list: [2] }, "three"]) port1.postMessage(value);
  equal(seen, [], "they come in tasks of their own");
  await all;
  equal(seen, [1, { list: [2] }, "three"]);
}

export async function a_listener_alone_waits_for_start() {
  const { port1, port2 } = new MessageChannel();
  const seen = [];
  port2.addEventListener("message", (event) => seen.push(event.data));
  port1.postMessage("early");
  await new Promise((resolve) => setTimeout(resolve, 5));
  equal(seen, []);
  const told = new Promise((resolve) => port2.addEventListener("message", resolve));
  port2.start();
  await told;
  equal(seen, ["early"]);
}

export async function messages_are_cloned_and_buffers_transferred() {
  const { port1, port2 } = new MessageChannel();
  const told = new Promise((resolve) => (port2.onmessage = resolve));
  const bytes = new Uint8Array([1, 2, 3]);
  port1.postMessage({ bytes }, [bytes.buffer]);
  equal(bytes.byteLength, 0);
  equal([...(await told).data.bytes], [1, 2, 3]);
  await throws("DataCloneError", () => port1.postMessage(() => {}));
  await throws("DataCloneError", () => port1.postMessage(port1, { transfer: [port1] }));
  await throws("TypeError", () => port1.postMessage());
}

export async function a_closed_port_is_silent() {
  const { port1, port2 } = new MessageChannel();
  const closed = new Promise((resolve) => port1.addEventListener("close", resolve));
  port1.onmessage = () => assert(false, "closed");
  port2.close();
  port2.postMessage("never");
  port1.postMessage("never");
  await closed;
  port1.close();
}

export async function the_interfaces() {
  await throws("TypeError", () => new MessagePort());
  await throws("TypeError", () => MessageChannel());
  const channel = new MessageChannel();
  assert(channel.port1 instanceof MessagePort && channel.port1 instanceof EventTarget);
  assert(channel.port1 === channel.port1 && channel.port1 !== channel.port2);
  equal(`${channel} ${channel.port1}`, "[object MessageChannel] [object MessagePort]");
  equal(channel.port1.onmessage, null);
}
