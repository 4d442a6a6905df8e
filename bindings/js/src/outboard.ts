import { hashTo } from "./hash.js";
import { MODE, bytes, checkLength, kind, setMode, taken, type Mode } from "./input.js";
import { key as keyAt, memory } from "./engine.js";
import { hex } from "./output.js";
import { chainingValue, parent, root, type Keyed } from "./subtrees.js";

/** Bytes of a group: those of `.obao4` files. */
export const GROUP = 16 << 10;

/** A whole input, and the outboard that belongs to it. */
export interface Whole extends Mode {
  /** The trusted digest: 32 bytes, or 64 hexadecimal digits. */
  expected: Uint8Array | string;
  /** The bytes of the whole input. */
  size: number;
  /** The outboard, for groups of 16 KiB: the bytes of an `.obao4` file. */
  outboard: Uint8Array;
}

/** The error of a range that does not belong to the digest. */
export class VerifyError extends Error {
  override name = "VerifyError";
}

/**
 * Returns the smallest range of whole groups around a range of bytes: what {@link verifyRange} needs of the input.
 *
 * ```js
 * groupsAround(20_000, 20_100, 1_000_000); // [16_384, 32_768]
 * ```
 */
export function groupsAround(start: number, end: number, size: number): [start: number, end: number] {
  checkLength(size, "size");
  checkLength(end, "end", size);
  checkLength(start, "start", end);
  return [start - (start % GROUP), Math.min(Math.ceil(end / GROUP) * GROUP, size)];
}

/**
 * Verifies `data`, the bytes of an input from `start` on, without the rest of the input. `data` is whole groups of 16 KiB, except
 * at the end of the input: see {@link groupsAround}. Neither data nor outboard need be trusted.
 *
 * @throws VerifyError if they do not belong to the digest
 */
export function verifyRange(whole: Whole, start: number, data: Uint8Array): void {
  const { size, outboard: pairs, expected: trusted, ...given } = taken(whole, ["expected", "size", "outboard", ...MODE], "whole");
  checkLength(size, "size");
  checkLength(start, "start", size);
  const part = bytes(data, "data");
  const outboard = bytes(pairs, "outboard");
  const end = start + part.length;
  if (start % GROUP !== 0 || end > size || (end % GROUP !== 0 && end !== size)) {
    throw new RangeError(`data must be whole groups of ${GROUP} bytes, and is bytes ${start} to ${end} of ${size}: see groupsAround`);
  }
  const groups = Math.max(Math.ceil(size / GROUP), 1);
  if (outboard.length !== 64 * (groups - 1)) {
    throw new VerifyError(`the outboard of ${size} bytes has ${64 * (groups - 1)} bytes, not ${outboard.length}`);
  }
  const digest = typeof trusted === "string" ? trusted.toLowerCase() : hex(bytes(trusted, "expected", "64 hexadecimal digits, "));
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new RangeError(`expected must have 32 bytes, or 64 hexadecimal digits, not ${kind(trusted)}`);
  const mode = setMode(given);
  const keyed: Keyed = { mode, key: mode === 0 ? undefined : memory.slice(keyAt, keyAt + 32) };
  if (groups === 1) {
    // No bytes of some are not wrong.
    if (part.length === 0 && size > 0) return;
    const found = new Uint8Array(32);
    hashTo(part, "data", given, found);
    if (part.length === size && hex(found) === digest) return;
    throw new VerifyError(`bytes 0 to ${size} are not those of the digest`);
  }
  const first = start / GROUP;
  const last = Math.ceil(end / GROUP);
  // The subtree of `count` groups from group `from` on, whose pairs begin at `pair`; `expected` is its value.
  const visit = (from: number, count: number, pair: number, expected: string, isRoot: boolean): void => {
    if (!isRoot && (from >= last || from + count <= first)) return;
    const range = `bytes ${from * GROUP} to ${Math.min((from + count) * GROUP, size)}`;
    if (count === 1) {
      const group = part.subarray(from * GROUP - start, (from + 1) * GROUP - start);
      if (hex(chainingValue(keyed, group, from * GROUP)) === expected) return;
      throw new VerifyError(`${range} are not those of the digest`);
    }
    const at = 64 * pair;
    const [left, right] = [outboard.subarray(at, at + 32), outboard.subarray(at + 32, at + 64)];
    const value = isRoot ? root(keyed, left, right, new Uint8Array(32)) : parent(keyed, left, right);
    if (hex(value) !== expected) throw new VerifyError(`the outboard is not that of the digest, over ${range}`);
    const half = 2 ** Math.ceil(Math.log2(count) - 1);
    visit(from, half, pair + 1, hex(left), false);
    visit(from + half, count - half, pair + half, hex(right), false);
  };
  visit(0, groups, 0, digest, true);
}
