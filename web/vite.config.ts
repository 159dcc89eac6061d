import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** KaTeX names each font in three formats; every browser that runs the page reads the first. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("katex.min.css")
      ? code.replaceAll(/,url\([^)]*\.woff\) format\("woff"\),url\([^)]*\.ttf\) format\("truetype"\)/g, "")
      : null,
};

export default defineConfig({
  plugins: [oneFontFormat, svelte()],
  build: {
    outDir: "../src/pnyx/interfaces/web",
    emptyOutDir: true,
    target: "es2022",
    // Small files would become data: addresses, which the policy of the page allows for pictures only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { bundlerTimings: false, pluginTimings: false } },
  },
});
