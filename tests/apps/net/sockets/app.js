// Sockets of cloudflare:sockets against the test's own echo server, at ?port=.
import { connect } from "cloudflare:sockets";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const kept = {};

async function echo(socket, text) {
  const writer = socket.writable.getWriter();
  const reader = socket.readable.getReader();
  await writer.write(encoder.encode(text));
  const { value } = await reader.read();
  writer.releaseLock();
  reader.releaseLock();
  return decoder.decode(value);
}

const paths = {
  async "/echo"(port) {
    const socket = connect({ hostname: "127.0.0.1", port });
    const { remoteAddress } = await socket.opened;
    const text = await echo(socket, "hello");
    await socket.close();
    await socket.closed;
    return `${remoteAddress === `127.0.0.1:${port}`} ${text}`;
  },
  // The connection is made by the first request, and used by later ones.
  async "/keep"(port, value) {
    kept.socket ??= connect(`127.0.0.1:${port}`);
    return echo(kept.socket, value);
  },
  async "/half"(port) {
    const socket = connect(`127.0.0.1:${port}`);
    const writer = socket.writable.getWriter();
    const sent = 20 * 1024 * 1024;
    let received = 0;
    const reading = (async () => {
      for await (const bytes of socket.readable) received += bytes.length;
    })();
    for (let left = sent; left > 0; left -= 65536) await writer.write(new Uint8Array(65536));
    await writer.close();
    await reading;
    await socket.closed;
    return `${received === sent}`;
  },
  async "/many"(port) {
    const sockets = [];
    try {
      for (let number = 0; number < 1000; number++) {
        const socket = connect(`127.0.0.1:${port}`);
        sockets.push(socket);
        await socket.opened;
      }
      return "there was no limit";
    } catch (error) {
      return `${sockets.length - 1} ${error.message}`;
    } finally {
      for (const socket of sockets) socket.close();
    }
  },
  async "/refused"(_, value) {
    try {
      await connect(value).opened;
      return "connected";
    } catch (error) {
      return error.message;
    }
  },
};

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    return new Response(await paths[pathname](Number(searchParams.get("port")), searchParams.get("value")));
  },
};
