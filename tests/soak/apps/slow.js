// Streams that take their time, and one that is as fast as it is read.
import { answer, parameter, sleep, way } from "./common.js";

const encoder = new TextEncoder();

// A line for each tick, `copies` times.
function pulled(line, ticks, copies, pause) {
  let tick = 0;
  return new ReadableStream({
    async pull(controller) {
      if (pause) await sleep(pause);
      if (tick === ticks) return controller.close();
      controller.enqueue(encoder.encode(line(tick++).repeat(copies)));
    },
  });
}

function pushed(line, ticks) {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const write = async () => {
    for (let tick = 0; tick < ticks; tick++) {
      await writer.write(encoder.encode(line(tick)));
      await sleep(2);
    }
    await writer.close();
  };
  // A client that went away.
  write().catch(() => {});
  return readable;
}

export default {
  fetch(request) {
    const [nonce, ticks] = [parameter(request, "nonce"), Number(parameter(request, "ticks"))];
    const line = (tick) => `${nonce} ${tick}\n`;
    const bodies = [() => pulled(line, ticks, 1, 3), () => pushed(line, ticks), () => pulled(line, ticks, 1000, 0)];
    return answer(request, bodies[way(request)]());
  },
};
