import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Relative addresses: the page's base says where the app is.
export default defineConfig({ base: "./", plugins: [react()], build: { assetsInlineLimit: 0 } });
