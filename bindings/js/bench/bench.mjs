// Measures the package and its peers, and prints samples, which `treewide-bench report` judges (`dev/bench/README.md`):
//
//   node bench/bench.mjs [node|chromium|size]... | treewide-bench report -
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
const options = values.quick ? { rounds: 5, each: 0.5 } : { rounds: 41, each: 5 };
const hosts = positionals.length > 0 ? positionals : ["node", "chromium", "size"];

/** Measures a part in a process of its own. */
function inNode(part) {
  const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), "part", part, ...(values.quick ? ["--quick"] : [])], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 30,
  });
  return JSON.parse(out);
}

/** Code that hashes 1 MiB for some milliseconds in a thread, and returns how often. */
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

/** Measures in a page. The browser's form of `blake3-wasm` takes a bundler of its time, so its module is instantiated here. */
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
  try {
    for (const part of Object.keys(PARTS)) {
      const page = await browser.newPage();
      page.on("pageerror", (error) => console.error(error));
      await page.goto(server.url);
      await page.waitForFunction("globalThis.measure");
      printAll(`Chromium ${browser.version()}`, await page.evaluate(([part, options]) => globalThis.measure(part, options), [part, options]));
      await page.close();
    }
  } finally {
    await browser.close();
    server.close();
  }
}

/** Prints the bytes that programs download: scripts, and bundles without the functions that a program does not use. */
async function sizes() {
  const kilobytes = ({ length }) => (length / 1000).toFixed(1);
  const add = (what, text) => print({ about: `${what}: ${kilobytes(text)} KB, gzipped ${kilobytes(gzipSync(text, { level: 9 }))} KB` });
  for (const file of ["index.js", "blake3-wasm.js", "worker.js"]) add(`dist/${file}`, readFileSync(`${js}dist/${file}`));
  for (const names of ["hash", "hash, hashHex, Hasher", "hash, hashMany, Hasher, hashBlob, Pool"]) {
    const contents = `import { ${names} } from "./dist/index.js"; globalThis.use = [${names}];`;
    const { outputFiles } = await build({ stdin: { contents, resolveDir: js }, bundle: true, minify: true, format: "esm", write: false });
    add(`a bundle that imports ${names}`, outputFiles[0].contents);
  }
}

function print(line) {
  console.log(JSON.stringify(line));
}

/** Prints the lines of a host, whose name comes before those of rows. */
function printAll(host, lines) {
  for (const line of lines) print("about" in line ? { about: `${host}: ${line.about}` } : { ...line, name: `${host}: ${line.name}` });
}

if (hosts[0] === "part") {
  await partInNode(hosts[1]);
  process.exit();
}
const { model } = cpus()[0];
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: js, encoding: "utf8" }).trim();
print({ about: `${model}, ${cpus().length} CPUs, commit ${commit}` });
for (const host of hosts) {
  if (host === "node") for (const part of Object.keys(PARTS)) printAll(`Node ${process.versions.node}`, inNode(part));
  else if (host === "chromium") await inChromium();
  else if (host === "size") await sizes();
  else throw new Error(`there is no ${host}: node, chromium, size`);
}
