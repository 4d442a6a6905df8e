// The test suite that npm serves with `blake3-wasm` 2.1.5, on the subpath that takes its place; and digests of other packages.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import test from "node:test";
import * as treewide from "../dist/index.js";
import { hex, pattern } from "./lib/vectors.mjs";
import { run } from "./lib/install.mjs";

const folder = fileURLToPath(new URL("../peers/", import.meta.url));
const peers = createRequire(new URL("../peers/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(peers.resolve(name)).href);

test("blake3-wasm: its suite passes on treewide/blake3-wasm", (t) => {
  const suite = ["node_modules/blake3-wasm/dist/node.test.js", "node_modules/blake3-wasm/dist/base/disposable.test.js"];
  const args = ["--no-warnings", "node_modules/mocha/bin/mocha.js", "--require", "./as-blake3-wasm.cjs", "--reporter", "dot", ...suite];
  const out = run(process.execPath, args, { cwd: folder });
  const [, passed] = out.match(/^ *(\d+) passing/m) ?? [];
  // All of them: none was left out. Four imports of the package: three of one file, one of the other.
  assert.equal(Number(passed), 248, out);
  assert.match(out, /replaced 4 imports/);
  assert.doesNotMatch(out, /failing|pending/);
  t.diagnostic(`blake3-wasm's suite: ${passed} cases`);
});

test("noble and hash-wasm give the same digests", async (t) => {
  const { blake3 } = await load("@noble/hashes/blake3.js");
  const hashWasm = await load("hash-wasm");
  const input = pattern(20_000);
  const key = input.slice(5, 37);
  const context = "treewide 2026-11-25 tests of javascript";
  let cases = 0;
  for (let length = 0; length < input.length; length += 1 + ((length * 31) % 97)) {
    const data = input.subarray(0, length);
    const dkLen = 1 + (length % 150);
    assert.equal(treewide.hashHex(data, { length: dkLen }), hex(blake3(data, { dkLen })));
    assert.equal(treewide.hashHex(data, { key }), hex(blake3(data, { key })));
    assert.equal(treewide.hashHex(data, { context }), hex(blake3(data, { context: new TextEncoder().encode(context) })));
    if (length % 16 === 0) assert.equal(treewide.hashHex(data, { key }), await hashWasm.blake3(data, 256, key));
    cases++;
  }
  t.diagnostic(`other packages: ${cases} cases`);
});
