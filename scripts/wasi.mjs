// Runs a WebAssembly program (wasm32-wasip1) under Node: `node scripts/wasi.mjs PROGRAM ARGUMENT...`
// The program sees the variables of this process and the current directory.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const preopens = { "/": "/", ".": process.cwd() };
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(args[0]));
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
