import { defineConfig } from "astro/config";

// Nothing is put into the pages, so that there are files to serve.
export default defineConfig({
  build: { inlineStylesheets: "never" },
  vite: { build: { assetsInlineLimit: 0 } },
});
