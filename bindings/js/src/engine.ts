// The one instance of the module, and who uses which part of its memory.
//
// Functions of the module read from the input and write to the output, one call after the other, so the memory never
// grows. Hashers have places in it. When there is none left, the one that was used least recently moves out: its bytes
// wait in an array of JavaScript, which is collected with its hasher. So no hasher has to be freed.

import { unpack } from "./unpack.js";

/** @internal The exports of `bindings/js/wasm/src/exports.rs`. */
export interface Exports {
  memory: { readonly buffer: ArrayBufferLike };
  address(part: number): number;
  hash(mode: number, length: number): void;
  context(length: number): void;
  many(mode: number, count: number): void;
  start(place: number, mode: number): void;
  start_at(place: number, mode: number, offset: number): void;
  update(place: number, length: number): void;
  finish(place: number, length: number, low: number, high: number): void;
  chaining_value(place: number): void;
  parent(mode: number): void;
  root(mode: number, length: number, low: number, high: number): void;
  save(place: number): number;
  load(place: number, length: number): number;
  count(place: number): number;
}

// Bytes of input, inputs of a batch, and bytes of output of one call, as `bindings/js/wasm/src/memory.rs` has them.
/** @internal */
export const INPUT = 128 << 10;
/** @internal */
export const MANY = 1 << 10;
/** @internal */
export const OUTPUT = 32 << 10;
const PLACES = 8;

/** @internal The place of a hasher that lasts no longer than one call. */
export const SCRATCH = PLACES - 1;

/** @internal The functions of the module; `undefined` before the first use, as its memory is. */
export let wasm: Exports;
/** @internal */
export let memory: Uint8Array<ArrayBuffer>;
/** @internal The memory from the input on, for texts. */
export let window_: Uint8Array<ArrayBuffer>;
/** @internal */
export let offsets: Uint32Array<ArrayBuffer>;
/** @internal Where the parts of the memory begin. */
export let [input, digests, output, key] = [0, 0, 0, 0];
let [hashers, hasherSize] = [0, 0];

let compiled: WebAssembly.Module | undefined;

/** The module as bytes. */
function unpacked(): Uint8Array<ArrayBuffer> {
  if (typeof WebAssembly === "undefined") {
    throw new Error("treewide needs WebAssembly, which is off here: by `--jitless`, or by a safer mode of a browser");
  }
  return unpack();
}

/** Says of an error of an engine what to do. */
function explained(cause: unknown): unknown {
  if ((cause as Error | undefined)?.name !== "CompileError") return cause;
  const needs = "it needs WebAssembly with SIMD; under a content security policy 'wasm-unsafe-eval'; in Cloudflare Workers `ready(module)`";
  return new Error(`treewide cannot be compiled here: ${needs} (${(cause as Error).message})`, { cause });
}

/** @internal The compiled module, which workers get. */
export function compiledModule(): WebAssembly.Module {
  if (compiled) return compiled;
  const bytes = unpacked();
  try {
    return (compiled = new WebAssembly.Module(bytes));
  } catch (cause) {
    if ((cause as Error | undefined)?.name !== "RangeError") throw explained(cause);
    throw new Error("this browser compiles WebAssembly on its main thread only asynchronously: `await ready()` first", { cause });
  }
}

function use(instance: WebAssembly.Instance): void {
  const exports = instance.exports as unknown as Exports;
  if (typeof exports.many !== "function") throw new TypeError("module must be that of treewide/module.wasm");
  const buffer = exports.memory.buffer as ArrayBuffer;
  memory = new Uint8Array(buffer);
  const at = [0, 1, 2, 3, 4, 5].map((part) => exports.address(part));
  [input, , digests, output, key, hashers] = at as [number, number, number, number, number, number];
  offsets = new Uint32Array(buffer, at[1], MANY + 1);
  window_ = memory.subarray(input, input + INPUT);
  hasherSize = exports.address(6);
  wasm = exports;
}

/** @internal Makes sure that {@link wasm} is there. */
export function start(): void {
  if (wasm !== undefined) return;
  // Before `WebAssembly` is named, which need not be there.
  const module = compiledModule();
  use(new WebAssembly.Instance(module));
}

/** @internal For the program of a worker, which gets the module from a pool. */
export function startWith(module: WebAssembly.Module): void {
  use(new WebAssembly.Instance((compiled = module)));
}

/**
 * Compiles the module without blocking. Await it once on the main thread of a browser; everything else is synchronous
 * from then on. In Node and in workers of browsers nothing needs it: the first call compiles. Where only modules that were there
 * before the program started can run, as in Cloudflare Workers, pass that of `treewide/module.wasm`.
 */
export async function ready(module?: object): Promise<void> {
  if (wasm !== undefined) return;
  let ours = (module as WebAssembly.Module | undefined) ?? compiled;
  if (!ours) {
    const bytes = unpacked();
    try {
      ours = await WebAssembly.compile(bytes);
    } catch (cause) {
      throw explained(cause);
    }
  }
  const instance = await WebAssembly.instantiate(ours);
  // Another call may have been faster, and hashers may live in its memory.
  if (wasm !== undefined) return;
  use(instance);
  compiled = ours;
}

/** @internal A hasher of the module: in a place of the memory, or as bytes here. */
export class State {
  /** Its place, if {@link owners} says so. */
  place = 0;
  bytes: Uint8Array | undefined;

  /** Of bytes that {@link copy} took. */
  constructor(bytes?: Uint8Array) {
    this.bytes = bytes;
  }
}

const owners: (State | undefined)[] = new Array(SCRATCH).fill(undefined);
/** When a place was used last. */
const used = new Float64Array(SCRATCH);
let clock = 0;

/** @internal Puts a hasher into a place, and returns that. A new one is not there yet: the caller starts it. */
export function place(state: State): number {
  if (owners[state.place] === state) {
    used[state.place] = ++clock;
    return state.place;
  }
  let free = 0;
  for (let at = 1; at < SCRATCH; at++) if (used[at]! < used[free]!) free = at;
  const owner = owners[free];
  const from = hashers + free * hasherSize;
  if (owner) owner.bytes = memory.slice(from, from + hasherSize);
  if (state.bytes) memory.set(state.bytes, from);
  state.bytes = undefined;
  owners[free] = state;
  used[free] = ++clock;
  return (state.place = free);
}

/** @internal A copy of a hasher that has a place. */
export function copy(state: State): State {
  const from = hashers + place(state) * hasherSize;
  return new State(memory.slice(from, from + hasherSize));
}
