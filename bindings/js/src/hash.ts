import { INPUT, SCRATCH, input, memory, output, start, wasm } from "./engine.js";
import { MODE, OPTIONS, isBytes, lengthOf, place, put, setMode, taken, type Bytes, type Input, type Mode, type Name, type Options } from "./input.js";
import { finish, hex } from "./output.js";

/** Hashes `data` to all bytes of `out`, and returns that. */
export function hash<Out extends Uint8Array>(data: Input, options: Options & { out: Out }): Out;
/**
 * Hashes `data`, and returns 32 bytes, or as many as `length` says.
 *
 * ```js
 * hash("abc"); // Uint8Array(32)
 * hash(data, { key }); // the keyed mode
 * hash(material, { context: "example.com 2026-11-21 session tokens v1", length: 64 }); // the derive-key mode
 * ```
 */
export function hash(data: Input, options?: Options): Bytes;
export function hash(data: Input, options?: Options): Uint8Array {
  // Most calls.
  if (options === undefined && isBytes(data)) {
    const length = lengthOf(data);
    if (length > 0 && length <= INPUT) {
      if (wasm === undefined) start();
      memory.set(data, input);
      wasm.hash(0, length);
      return memory.slice(output, output + 32);
    }
  }
  const given = taken(options, OPTIONS);
  if (given.length === undefined && given.out === undefined) {
    digest(data, given);
    return memory.slice(output, output + 32);
  }
  const out = place(given);
  hashTo(data, "data", given, out);
  return given.out ?? out;
}

/** Fills `out` with the output of `data`, which errors call `name`. */
export function hashTo(data: Input, name: Name, mode: Mode, out: Uint8Array): void {
  if (out.length <= 32) {
    digest(data, mode, name);
    out.set(memory.subarray(output, output + out.length));
    return;
  }
  const number = setMode(mode);
  wasm.start(SCRATCH, number);
  const length = put(data, name);
  if (length >= 0) wasm.update(SCRATCH, length);
  finish(SCRATCH, out);
}

/** Leaves 32 bytes of output in the memory. */
function digest(data: Input, options: Mode, name: Name = "data"): void {
  const mode = setMode(options);
  wasm.start(SCRATCH, mode);
  const length = put(data, name);
  if (length >= 0) wasm.hash(mode, length);
  else wasm.finish(SCRATCH, 32, 0, 0);
}

/** Hashes as {@link hash} does, and returns lower-case hexadecimal digits. */
export function hashHex(data: Input, options?: Omit<Options, "out">): string {
  const given = taken(options, [...MODE, "length"]);
  if (given.length === undefined) {
    digest(data, given);
    return hex(memory, output, output + 32);
  }
  const out = place(given);
  hashTo(data, "data", given, out);
  return hex(out);
}
