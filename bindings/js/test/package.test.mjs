// What users get: `npm pack`, installed into an empty project, and what the README says there.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import test, { after, before, describe } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { install, run } from "./lib/install.mjs";

const here = new URL("..", import.meta.url);
const ABC = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";

/** The examples of a document that are JavaScript. */
const examples = (path) => [...readFileSync(new URL(path, here), "utf8").matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);

describe("package", () => {
  let project;
  before(() => (project = install()));
  after(() => project?.remove());

  test("it has what it needs, and nothing else", () => {
    const { files } = project;
    for (const path of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "package.json", "dist/index.js", "dist/index.js.map", "dist/types/index.d.ts"]) {
      assert.ok(files.includes(path), path);
    }
    const others = files.filter((path) => !/^(dist\/|README\.md$|LICENSE-|package\.json$)/.test(path));
    assert.deepEqual(others, []);
    const { exports, dependencies, scripts } = JSON.parse(readFileSync(join(project.folder, "node_modules/treewide/package.json"), "utf8"));
    assert.equal(dependencies, undefined);
    assert.equal(scripts.install ?? scripts.postinstall, undefined);
    const paths = (target) => (typeof target === "string" ? [target] : Object.values(target).flatMap(paths));
    for (const path of Object.values(exports).flatMap(paths)) assert.ok(existsSync(join(project.folder, "node_modules/treewide", path)), path);
    for (const script of files.filter((path) => /^dist\/[^/]*\.js$/.test(path))) {
      const text = readFileSync(join(project.folder, "node_modules/treewide", script), "utf8");
      assert.ok(!text.includes("import.meta"), `${script} finds its place by itself`);
      assert.ok(text.includes("sourceMappingURL"), script);
    }
  });

  test("a bundle that imports hash has at most 32 KB gzipped", async () => {
    const stdin = { contents: 'import { hash } from "treewide"; globalThis.use = hash;', resolveDir: project.folder };
    const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", write: false });
    const { length } = gzipSync(outputFiles[0].contents, { level: 9 });
    assert.ok(length > 10_000 && length <= 32_000, `${length} bytes`);
  });

  test("the examples of README.md run", (t) => {
    const all = examples("README.md");
    assert.ok(all.length > 8);
    all.forEach((code, index) => {
      const path = join(project.folder, `example-${index}.mjs`);
      writeFileSync(path, code);
      run(process.execPath, [path], { cwd: project.folder });
    });
    t.diagnostic(`${all.length} cases`);
  });

  test("a build without the target or without Rust says what to install", () => {
    const bin = join(project.folder, "bin");
    mkdirSync(bin);
    const program = (name, text) => writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const buildThere = () => {
      const { status, stderr } = spawnSync(process.execPath, ["build.mjs"], { cwd: fileURLToPath(here), env: { PATH: bin }, encoding: "utf8" });
      assert.equal(status, 1);
      assert.doesNotMatch(stderr, /^ +at /m);
      return stderr;
    };
    assert.match(buildThere(), /^build\.mjs: there is no rustc: install Rust from https:\/\/rustup\.rs/);
    program("rustc", `echo ${bin}`);
    assert.match(buildThere(), /: run `rustup target add wasm32-unknown-unknown`/);
    program("rustup", `echo "$*" > ${bin}/asked; exit 1`);
    assert.match(buildThere(), /: run `rustup target add wasm32-unknown-unknown`/);
    assert.equal(readFileSync(join(bin, "asked"), "utf8"), "target add wasm32-unknown-unknown\n");
    const { scripts } = JSON.parse(readFileSync(new URL("package.json", here), "utf8"));
    assert.equal(scripts.prepack, "node build.mjs");
  });

  test("a program with a pool waits for it, and ends", () => {
    const path = join(project.folder, "pool.mjs");
    writeFileSync(path, `import { Pool } from "treewide"; console.log((await new Pool(2).hashBlob(new Blob([new Uint8Array(9e6)]))).length);`);
    assert.equal(run(process.execPath, [path], { cwd: project.folder, timeout: 30_000 }), "32\n");
  });

  test("require takes it", () => {
    const code = `const { hashHex } = require("treewide"); console.log(hashHex("abc"), require("treewide/blake3-wasm").hash("abc").toString("hex"))`;
    const out = run(process.execPath, ["--no-warnings", "-e", code], { cwd: project.folder });
    assert.equal(new Set(out.trim().split(" ")).size, 1);
  });

  test("it says what an engine lacks", (t) => {
    const code = `
      import { hash, ready } from "treewide";
      const message = (call) => new Promise((resolve) => resolve(call())).then(String, (error) => error.message);
      for (const call of [ready, () => hash("abc")]) console.log(await message(call));`;
    const lines = (flags) => run(process.execPath, [...flags, "--input-type=module", "-e", code], { cwd: project.folder }).trim().split("\n");
    const off = lines(["--jitless"]).filter((line) => line.startsWith("treewide needs WebAssembly, which is off here"));
    assert.equal(off.length, 2);
    if (process.arch !== "x64") return t.diagnostic("SKIPPED: only V8 for x64 has a flag for no SIMD");
    const without = lines(["--no-enable-sse4-1", "--no-enable-ssse3", "--no-enable-sse3", "--no-enable-avx"]);
    assert.equal(without.length, 2);
    for (const line of without) assert.match(line, /^treewide cannot be compiled here: it needs WebAssembly with SIMD/);
  });

  test("ready takes a module where none can be compiled", () => {
    const code = `
      import { readFileSync } from "node:fs";
      import { createRequire } from "node:module";
      const { Module } = WebAssembly;
      const module = new Module(readFileSync(createRequire("${project.folder}/x.js").resolve("treewide/module.wasm")));
      // As Cloudflare Workers do.
      function refuse() { throw new WebAssembly.CompileError("code generation disallowed by embedder"); }
      Object.assign(WebAssembly, { Module: refuse, compile: async () => refuse() });
      const { hashHex, ready } = await import("treewide");
      for (const call of [() => ready(), () => hashHex("abc"), () => ready(new Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)))]) {
        console.log(await new Promise((resolve) => resolve(call())).then(String, (error) => error.message));
      }
      await ready(module);
      console.log(hashHex("abc"));`;
    const out = run(process.execPath, ["--input-type=module", "-e", code], { cwd: project.folder }).trim().split("\n");
    const refused = /^treewide cannot be compiled here: .*in Cloudflare Workers `ready\(module\)`/;
    for (const line of out.slice(0, 2)) assert.match(line, refused);
    assert.deepEqual(out.slice(2), ["module must be that of treewide/module.wasm", ABC]);
  });

  test("without a TextEncoder, as in jsdom, bytes are hashed and text is refused", () => {
    const code = `
      for (const name of ["TextEncoder", "TextDecoder"]) delete globalThis[name];
      const { hashHex } = await import("treewide");
      const { hash } = await import("./node_modules/treewide/dist/blake3-wasm.js");
      const abc = Uint8Array.of(97, 98, 99);
      console.log(hashHex(abc), hash(abc).toString());
      try { hashHex("abc"); } catch (error) { console.log(error.message); }`;
    const [digests, error] = run(process.execPath, ["--input-type=module", "-e", code], { cwd: project.folder }).trim().split("\n");
    assert.equal(digests, `${ABC} ${ABC}`);
    assert.match(error, /^this environment has no TextEncoder, which text needs/);
  });

  test("treewide/blake3-wasm refuses what has no bytes", async () => {
    const { hash } = await import("../dist/blake3-wasm.node.js");
    for (const input of [5, null, undefined, new DataView(new ArrayBuffer(3))]) assert.throws(() => hash(input), /^TypeError: input must be/);
  });

  test("the types are those of the functions", () => {
    writeFileSync(
      join(project.folder, "use.ts"),
      `
import { hash, hashBlob, hashHex, hashMany, hashStream, Hasher, Pool, ready, verifyRange, groupsAround, type Options } from "treewide";
import { createHash, hash as compatible } from "treewide/blake3-wasm";
const options: Options = { key: new Uint8Array(32), length: 5 };
const a: Uint8Array = hash("a", options);
const b: string = hashHex(new DataView(new ArrayBuffer(3)));
const c: Uint8Array = hashMany([a, b, a.buffer]);
const d: Hasher = Hasher.fromState(Hasher.keyed(a).update(b).toState());
const e = hashStream([a]);
const f = new Pool(2, {}).hashBlob(new Blob([]), { onProgress: (done: number) => done });
const g: [number, number] = groupsAround(0, 1, 2);
const h: string = createHash().update(a).digest("hex");
const i: Uint8Array = hash(d.xof().read(3));
verifyRange({ expected: a, size: 3, outboard: a }, 0, a);
// What browsers do not take of shared memory: here, where a caller gave no array, it never is.
new Blob([hash("a"), hash("a", { length: 5 }), hashMany([a]), d.digest(), d.toState(), d.xof().read(3)]);
const j: Promise<ArrayBuffer> = crypto.subtle.digest("SHA-256", hash("a"));
const k = async () => new Blob([await e, await f, await hashBlob(new Blob([]))]);
const m = hashBlob(new Blob([]), { onProgress: (done, total) => done / total });
const n = new Pool().hashBlob(new Blob([]), { onProgress: (done, total) => done / total });
const l: string = hash("a", { out: Buffer.alloc(32) }).toString("hex") + d.xof().fill(Buffer.alloc(3)).toString("hex");
hashMany([a], { out: new Uint8Array(new SharedArrayBuffer(32)) });
// @ts-expect-error: a number is not an input
hash(5);
// @ts-expect-error: there is no such option
hash("a", { size: 3 });
void [c, e, f, g, h, i, j, k, l, m, n, ready(), hashBlob, compatible];
`,
    );
    const tsc = fileURLToPath(new URL("node_modules/.bin/tsc", here));
    const types = fileURLToPath(new URL("node_modules/@types", here));
    const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", "node", "--typeRoots", types];
    // The newest, and the oldest that has what the types use: before 5.7 arrays are not generic.
    const oldest = fileURLToPath(new URL("peers/node_modules/typescript-5.4/bin/tsc", here));
    run(tsc, [...options, "--module", "nodenext", "use.ts"], { cwd: project.folder });
    run(process.execPath, [oldest, ...options, "--module", "es2022", "--moduleResolution", "bundler", "use.ts"], { cwd: project.folder });
    // A program for Node alone.
    writeFileSync(
      join(project.folder, "node.ts"),
      `import { Worker } from "node:worker_threads";\nimport { Pool } from "treewide";\nnew Pool(2, { createWorker: () => new Worker("") });\n`,
    );
    run(tsc, [...options, "--module", "nodenext", "--lib", "es2022", "node.ts"], { cwd: project.folder });
  });
});
