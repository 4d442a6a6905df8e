// Measures the package and its peers, and prints each bar with what was measured: `node bench/bench.mjs [node|chromium|size]...`.
//
// Build the package first, and run `npm ci --prefix peers`. Nothing else should run at the same time. `--quick` is for trying it.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Worker } from "node:worker_threads";
import { PARTS } from "./cases.mjs";
import { launch, serve, skip } from "../test/lib/browser.mjs";

const js = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({ allowPositionals: true, options: { quick: { type: "boolean" } } });
const options = values.quick ? { rounds: 2, each: 5 } : { rounds: 21, each: 40 };
const hosts = positionals.length > 0 ? positionals : ["node", "chromium", "size"];

const OURS = "treewide";
const COMPATIBLE = "blake3-wasm 2.1.5";

/** Measures a part in a process of its own. */
function inNode(part) {
  const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), "part", part, ...(values.quick ? ["--quick"] : [])], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 30,
  });
  return JSON.parse(out);
}

/** What hashes 1 MiB for some milliseconds in a thread, and returns how often. */
const SPIN = `
  const data = new Uint8Array(1 << 20);
  const spin = (milliseconds) => {
    for (let warm = 0; warm < 100; warm++) hash(data);
    let calls = 0;
    for (const end = performance.now() + milliseconds; performance.now() < end; calls++) hash(data);
    return calls;
  };`;

async function partInNode(part) {
  const { modules } = await import("../peers/load.mjs");
  const require = createRequire(new URL("../peers/package.json", import.meta.url));
  const source = `
    const { parentPort, workerData } = require("node:worker_threads");
    import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)}).then(({ hash }) => {
      ${SPIN}
      parentPort.postMessage(spin(workerData));
    });`;
  const makeWorker = (workerData) => new Promise((resolve) => new Worker(source, { eval: true, workerData }).once("message", resolve));
  const load = async () => ({ ...modules, blake3Wasm: require("blake3-wasm") });
  console.log(JSON.stringify(await PARTS[part](load, options, makeWorker)));
}

/** The same in a page. The browser's form of `blake3-wasm` takes a bundler of its time, so its module is instantiated here. */
async function inChromium() {
  if (skip) throw new Error(skip);
  const contents = `
    import { modules } from "./load.mjs";
    import { PARTS } from "../bench/cases.mjs";
    import * as glue from "blake3-wasm/dist/wasm/web/blake3_js.js";
    const makeWorker = (milliseconds) => new Promise((resolve) => {
      const worker = new Worker("/spin.js", { type: "module" });
      worker.onmessage = ({ data }) => resolve(data);
      worker.postMessage(milliseconds);
    });
    globalThis.measure = async (part, options) => {
      await glue.default("/peers/node_modules/blake3-wasm/dist/wasm/web/blake3_js_bg.wasm");
      // As its hash function does it.
      const hash = (data) => {
        const hasher = glue.create_hasher();
        hasher.update(data);
        const out = new Uint8Array(32);
        hasher.digest(out);
        hasher.free();
        return out;
      };
      return PARTS[part](async () => ({ ...modules, blake3Wasm: { hash } }), options, makeWorker);
    };`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: `${js}peers` },
    bundle: true,
    format: "esm",
    write: false,
    platform: "browser",
    logLevel: "error",
  });
  const pages = {
    "/": '<!doctype html><script type="module" src="/bench.js"></script>',
    "/bench.js": outputFiles[0].text,
    "/spin.js": `import { hash } from "/dist/index.js"; ${SPIN} onmessage = ({ data }) => postMessage(spin(data));`,
  };
  const server = await serve(js, { pages });
  const browser = await launch();
  const measured = {};
  try {
    for (const part of Object.keys(PARTS)) {
      const page = await browser.newPage();
      page.on("pageerror", (error) => console.error(error));
      await page.goto(server.url);
      await page.waitForFunction("globalThis.measure");
      measured[part] = await page.evaluate(([part, options]) => globalThis.measure(part, options), [part, options]);
      await page.close();
    }
    return { name: `Chromium ${browser.version()}`, ...measured };
  } finally {
    await browser.close();
    server.close();
  }
}

const label = (bytes) => (bytes >= 1 << 20 ? `${bytes >> 20} MiB` : bytes >= 1024 ? `${bytes >> 10} KiB` : `${bytes} B`);
const table = (head, rows) => [head, head.map((_, column) => (column ? "---:" : "---")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** The bars of issue 39: what is measured, the least ratio, and the ratio. */
function bars({ lengths: rows, many: batch, pools: pool }) {
  const peers = (row) => Object.keys(row).filter((name) => name !== OURS);
  const all = [];
  for (const [length, row] of Object.entries(rows)) {
    const best = peers(row).reduce((least, name) => (row[name] < row[least] ? name : least));
    if (length <= 64 || length >= 4096) all.push([`${label(length)}: of \`${COMPATIBLE}\``, 2, row[COMPATIBLE] / row[OURS]]);
    if (length >= 1024) all.push([`${label(length)}: of the fastest peer, \`${best}\``, length >= 4096 ? 1.3 : 1.1, row[best] / row[OURS]]);
  }
  const loops = Object.keys(batch).filter((name) => name.startsWith("loop of") && !name.includes("treewide"));
  const best = loops.reduce((least, name) => (batch[name] < batch[least] ? name : least));
  all.push([`hashMany of 20,000 x 200 B: of the fastest ${best.replace(/loop of (.*)/, "loop, `$1`")}`, 3, batch[best] / batch.hashMany]);
  all.push(["64 MiB: Pool(2), of `hashBlob`", 1.7, pool.hashBlob / pool["Pool(2)"]]);
  return all;
}

function report(measured) {
  const { name, lengths: rows, many: batch, pools } = measured;
  const { threads, ...pool } = pools;
  const names = Object.keys(rows[32]);
  const lengths = Object.keys(rows).map(Number);
  const cell = (ns, length) => (ns === undefined ? "" : length <= 1024 ? `${ns.toFixed(0)} ns` : `${(length / ns).toFixed(2)} GB/s`);
  console.log(`### ${name}\n`);
  console.log(table(["", ...lengths.map(label)], names.map((engine) => [`\`${engine}\``, ...lengths.map((length) => cell(rows[length][engine], length))])));
  console.log(`\n20,000 inputs of 200 bytes:\n`);
  console.log(table(["", "ms"], Object.entries(batch).map(([what, ms]) => [what, ms.toFixed(1)])));
  console.log(`\nA blob of 64 MiB:\n`);
  console.log(table(["", "ms"], Object.entries(pool).map(([what, ms]) => [what, ms.toFixed(1)])));
  console.log(`\nTwo threads that hash at the same time do ${threads.toFixed(2)} times as much as one: no pool of two can do more here.`);
  console.log(`\nBars, how many times as fast:\n`);
  const mark = (bar, ratio) => (ratio >= bar ? "" : "falls short");
  console.log(table(["", "bar", "measured", ""], bars(measured).map(([what, bar, ratio]) => [what, bar, ratio.toFixed(2), mark(bar, ratio)])));
  console.log();
}

/** What programs download: the scripts, and what is left of them where a bundler drops what a program does not use. */
async function sizes() {
  const sizes = [];
  const add = (what, text) => sizes.push([what, (text.length / 1000).toFixed(1), (gzipSync(text, { level: 9 }).length / 1000).toFixed(1)]);
  for (const file of ["index.js", "blake3-wasm.js", "worker.js"]) add(`\`dist/${file}\``, readFileSync(`${js}dist/${file}`));
  for (const names of ["hash", "hash, hashHex, Hasher", "hash, hashMany, Hasher, hashBlob, Pool"]) {
    const contents = `import { ${names} } from "./dist/index.js"; globalThis.use = [${names}];`;
    const { outputFiles } = await build({ stdin: { contents, resolveDir: js }, bundle: true, minify: true, format: "esm", write: false });
    add(`a bundle that imports ${names}`, outputFiles[0].contents);
  }
  console.log(`### Size\n\n${table(["", "KB", "gzipped"], sizes)}\n`);
}

if (hosts[0] === "part") {
  await partInNode(hosts[1]);
  process.exit();
}
const { model } = cpus()[0];
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: js, encoding: "utf8" }).trim();
console.log(`${model}, ${cpus().length} CPUs, commit ${commit}, ${options.rounds} rounds of ${options.each} ms\n`);
for (const host of hosts) {
  if (host === "node") report({ name: `Node ${process.versions.node}`, ...Object.fromEntries(Object.keys(PARTS).map((part) => [part, inNode(part)])) });
  else if (host === "chromium") report(await inChromium());
  else if (host !== "size") throw new Error(`there is no ${host}: node, chromium, size`);
}
if (hosts.includes("size")) await sizes();
