// bun bun.js WORKER PORT
const [file, port] = process.argv.slice(2);
const { default: worker } = await import(file);
Bun.serve({ hostname: "127.0.0.1", port: Number(port), fetch: worker.fetch });
