// The package through each bundler: built from the tarball of `npm pack`, and run in Chromium, or in Node where there is none.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import test, { after, before, describe } from "node:test";
import { launch, serve, skip } from "./lib/browser.mjs";
import { install } from "./lib/install.mjs";

const peers = createRequire(new URL("../peers/package.json", import.meta.url));
/** A module of the peers' folder, also one that only `import` takes. */
const load = (name) => import(pathToFileURL(peers.resolve(name)).href);

const ENTRY = `
import { hash, hashHex, hashMany, Hasher, Pool } from "treewide";
import * as compatible from "treewide/blake3-wasm";
const pool = new Pool(2);
const bytes = new Uint8Array(5_000_000).fill(7);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
globalThis.result = pool.hashBlob(new Blob([bytes])).then((digest) => {
  pool.close();
  return [
    hashHex("abc"), compatible.hash("abc").toString("hex"), hex(hashMany(["abc"])), new Hasher().update("abc").digestHex(),
    hex(digest) === hashHex(bytes), hash("abc").length,
  ];
});
`;
const ABC = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
const EXPECTED = [ABC, ABC, ABC, ABC, true, 32];

const BUNDLERS = {
  async esbuild(folder, out) {
    const { build } = await import("esbuild");
    await build({ entryPoints: [join(folder, "entry.js")], bundle: true, minify: true, format: "esm", outfile: out, logLevel: "error" });
  },
  async rollup(folder, out) {
    const { rollup } = await load("rollup");
    const { nodeResolve } = await load("@rollup/plugin-node-resolve");
    const warnings = [];
    const bundle = await rollup({ input: join(folder, "entry.js"), plugins: [nodeResolve({ browser: true })], onwarn: ({ message }) => warnings.push(message) });
    await bundle.write({ file: out, format: "es" });
    assert.deepEqual(warnings, []);
  },
  async vite(folder, out) {
    const { build } = await load("vite");
    const lib = { entry: join(folder, "entry.js"), formats: ["es"], fileName: () => basename(out) };
    await build({ root: folder, configFile: false, logLevel: "error", build: { outDir: join(out, ".."), emptyOutDir: false, lib } });
  },
  async webpack(folder, out) {
    const { default: webpack } = await load("webpack");
    const options = {
      mode: "production",
      context: folder,
      entry: join(folder, "entry.js"),
      output: { path: join(out, ".."), filename: basename(out) },
      performance: false,
    };
    const stats = await new Promise((resolve, reject) => webpack(options, (error, stats) => (error ? reject(error) : resolve(stats))));
    assert.equal(stats.hasErrors() || stats.hasWarnings(), false, stats.toString("errors-warnings"));
  },
};

describe("bundlers", () => {
  let project, browser, server;
  before(async () => {
    project = install();
    mkdirSync(join(project.folder, "out"));
    writeFileSync(join(project.folder, "entry.js"), ENTRY);
    const page = (name) => [`/${name}.html`, `<!doctype html><script type="module" src="/out/${name}.mjs"></script>`];
    server = await serve(project.folder, { pages: Object.fromEntries(Object.keys(BUNDLERS).map(page)) });
    if (!skip) browser = await launch();
  });
  after(async () => {
    await browser?.close();
    server?.close();
    project?.remove();
  });

  for (const [name, build] of Object.entries(BUNDLERS)) {
    test(`${name} bundles treewide`, { timeout: 120_000 }, async (t) => {
      const out = join(project.folder, "out", `${name}.mjs`);
      await build(project.folder, out);
      let result;
      if (browser) {
        const page = await browser.newPage();
        await page.goto(`${server.url}/${name}.html`);
        await page.waitForFunction("globalThis.result");
        result = await page.evaluate("globalThis.result");
        await page.close();
      } else {
        t.diagnostic(`SKIPPED: ${name}'s bundle runs in Node: ${skip}`);
        await import(pathToFileURL(out).href);
        result = await globalThis.result;
      }
      assert.deepEqual(result, EXPECTED);
      t.diagnostic(`${name}: ${readFileSync(out).length} bytes`);
    });
  }
});
