// An adapter in the way of SvelteKit's own: a handler of requests in build/index.js, the server in build/server, and in
// build/client what is served without it.
import { writeFileSync } from "node:fs";

const OUT = "build";

export default function adapter() {
  return {
    name: "hearth",
    async adapt(builder) {
      builder.rimraf(OUT);
      builder.writeClient(`${OUT}/client`);
      builder.writePrerendered(`${OUT}/client`);
      builder.writeServer(`${OUT}/server`);
      const manifest = builder.generateManifest({ relativePath: "./server" });
      writeFileSync(`${OUT}/manifest.js`, `export const manifest = ${manifest};\n`);
      builder.copy("handler.js", `${OUT}/index.js`);
    },
  };
}
