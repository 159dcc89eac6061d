import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/pnyx/interfaces/web",
    emptyOutDir: true,
    target: "es2022",
    // Small files would become data: addresses, which the policy of the page allows for pictures only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
