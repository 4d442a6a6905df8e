// Puts `treewide/blake3-wasm` where the test suite of `blake3-wasm` looks for the package. Loaded by mocha first.
const fs = require("node:fs");
const Module = require("node:module");
const { join, sep } = require("node:path");
const { blake3 } = require("@noble/hashes/blake3.js");

const suite = `${sep}blake3-wasm${sep}dist${sep}`;
// The package itself, on Node and as a native module, and a part of it that the suite imports.
const OURS = /^(\.\/node|\.\/node-native|\.\.\/node|\.\/base\/hash-reader)$/;

const resolve = Module._resolveFilename;
let replaced = 0;
Module._resolveFilename = function (request, parent, ...rest) {
  if (parent?.filename?.includes(suite) && OURS.test(request) && parent.filename.endsWith(".test.js")) {
    replaced++;
    return join(__dirname, "../dist/blake3-wasm.node.js");
  }
  return resolve.call(this, request, parent, ...rest);
};
process.on("exit", () => console.log(`replaced ${replaced} imports`));

// npm serves the suite without the text that it hashes as its largest input, so that is another one here, of several chunks.
const read = fs.readFileSync;
const text = "BLAKE3, Blake drei, ブレイク3. ".repeat(1000);
fs.readFileSync = (path, ...rest) => (String(path).endsWith("test-input.txt") ? text : read(path, ...rest));
const { inputs } = require("blake3-wasm/dist/base/test-helpers");
inputs.large.hash = Buffer.from(blake3(new TextEncoder().encode(text)));
