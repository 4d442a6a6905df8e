import { INPUT, SCRATCH, input, memory, output, start, wasm } from "./engine.js";
import { put, place, setMode, type Bytes, type Input, type Options } from "./input.js";
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
  if (options === undefined && data instanceof Uint8Array && data.length <= INPUT && data.length > 0) {
    if (wasm === undefined) start();
    memory.set(data, input);
    wasm.hash(0, data.length);
    return memory.slice(output, output + 32);
  }
  if (options === undefined || (options.length === undefined && options.out === undefined)) {
    digest(data, options ?? {});
    return memory.slice(output, output + 32);
  }
  const out = place(options);
  if (out.length <= 32) {
    digest(data, options);
    out.set(memory.subarray(output, output + out.length));
    return out;
  }
  const mode = setMode(options);
  wasm.start(SCRATCH, mode);
  const length = put(data, "data");
  if (length >= 0) wasm.update(SCRATCH, length);
  finish(SCRATCH, out);
  return out;
}

/** Leaves 32 bytes of output in the memory. */
function digest(data: Input, options: Options): void {
  const mode = setMode(options);
  wasm.start(SCRATCH, mode);
  const length = put(data, "data");
  if (length >= 0) wasm.hash(mode, length);
  else wasm.finish(SCRATCH, 32, 0, 0);
}

/** {@link hash} as lower-case hexadecimal. */
export function hashHex(data: Input, options?: Omit<Options, "out">): string {
  if (options?.length !== undefined) return hex(hash(data, options));
  digest(data, options ?? {});
  return hex(memory, output, output + 32);
}
