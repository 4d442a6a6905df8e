// Chaining values of subtrees, and what joins them: `treewide::hazmat`.

import { OUTPUT, SCRATCH, State, input, key, memory, output, place, start, wasm } from "./engine.js";
import { feed } from "./input.js";

/** A mode as workers get it: its number, and the key or the hashed context. */
export interface Keyed {
  mode: number;
  key: Uint8Array | undefined;
}

/** The chaining value of the subtree whose `data` begins at byte `offset` of the whole input. */
export function chainingValue({ mode, key: bytes }: Keyed, data: Uint8Array, offset: number): Uint8Array {
  start();
  if (bytes) memory.set(bytes, key);
  wasm.start_at(SCRATCH, mode, offset);
  feed(SCRATCH, data, "data");
  wasm.chaining_value(SCRATCH);
  return memory.slice(output, output + 32);
}

/** The chaining value of data that arrives in pieces. Others may be hashed between two of them. */
export async function chainingValueOf({ mode, key: bytes }: Keyed, pieces: AsyncIterable<Uint8Array>, offset: number): Promise<Uint8Array> {
  start();
  const state = new State();
  if (bytes) memory.set(bytes, key);
  wasm.start_at(place(state), mode, offset);
  for await (const piece of pieces) feed(place(state), piece, "data");
  wasm.chaining_value(place(state));
  return memory.slice(output, output + 32);
}

function children({ key: bytes }: Keyed, left: Uint8Array, right: Uint8Array): void {
  start();
  if (bytes) memory.set(bytes, key);
  memory.set(left, input);
  memory.set(right, input + 32);
}

/** The chaining value of a parent that is not the root. */
export function parent(keyed: Keyed, left: Uint8Array, right: Uint8Array): Uint8Array {
  children(keyed, left, right);
  wasm.parent(keyed.mode);
  return memory.slice(output, output + 32);
}

/** Fills `out` with the output of the root. */
export function root(keyed: Keyed, left: Uint8Array, right: Uint8Array, out: Uint8Array): Uint8Array {
  children(keyed, left, right);
  for (let done = 0; done < out.length; done += OUTPUT) {
    const length = Math.min(OUTPUT, out.length - done);
    wasm.root(keyed.mode, length, done % 2 ** 32, Math.floor(done / 2 ** 32));
    out.set(memory.subarray(output, output + length), done);
  }
  return out;
}

/** Joins two or more neighbouring subtrees of one size, the last one as short as it comes, to output of the root. */
export function join(keyed: Keyed, cvs: Uint8Array[], out: Uint8Array): Uint8Array {
  let level = cvs;
  while (level.length > 2) {
    const next = [];
    for (let at = 0; at < level.length; at += 2) {
      const right = level[at + 1];
      // An odd last one rises as it is.
      next.push(right ? parent(keyed, level[at]!, right) : level[at]!);
    }
    level = next;
  }
  return root(keyed, level[0]!, level[1]!, out);
}
