// What functions return.

import { OUTPUT, memory, output, wasm } from "./engine.js";

/** Fills `out` with output of the hasher in a place, from byte `position` on. */
export function finish(place: number, out: Uint8Array, position: bigint = 0n): void {
  for (let done = 0; done < out.length; done += OUTPUT) {
    const length = Math.min(OUTPUT, out.length - done);
    const at = position + BigInt(done);
    wasm.finish(place, length, Number(at & 0xffff_ffffn), Number(at >> 32n));
    out.set(memory.subarray(output, output + length), done);
  }
}

const HEX = /* @__PURE__ */ Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Bytes as lower-case hexadecimal. */
export function hex(bytes: Uint8Array, from: number = 0, to: number = bytes.length): string {
  let text = "";
  for (let at = from; at < to; at++) text += HEX[bytes[at]!];
  return text;
}
