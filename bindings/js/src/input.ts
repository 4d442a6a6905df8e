// What callers pass: checked here, with errors that name the argument and what it was.

import { INPUT, SCRATCH, input, key, memory, start, wasm, window_ } from "./engine.js";

/** Bytes in memory of their own, which `Blob` and `crypto.subtle` take: `Uint8Array<ArrayBuffer>`, from TypeScript 5.7 on. */
export type Bytes = ReturnType<typeof Uint8Array.of>;

/** What can be hashed. Text is hashed as UTF-8; of a view the bytes that it shows. */
export type Input = string | ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/** The mode. */
export interface Mode {
  /** A key of 32 bytes, for the keyed mode. */
  key?: Uint8Array | undefined;
  /** A context, for the derive-key mode: unique to the application and the purpose, and never input. */
  context?: string | undefined;
}

/** The mode, and how much output is wanted. */
export interface Options extends Mode {
  /** Bytes of output: 32 unless `out` says otherwise. */
  length?: number | undefined;
  /** Where the output goes, and as much of it as this has bytes. It is returned. */
  out?: Uint8Array | undefined;
}

/** What a value is, for an error. */
export function kind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  if (typeof value === "object") return `an object of type ${value.constructor?.name ?? "Object"}`;
  return `a ${typeof value}`;
}

/** The bytes of a view or buffer; `name` is the argument. */
export function bytes(data: unknown, name: string): Uint8Array {
  let array: Uint8Array;
  if (data instanceof Uint8Array) {
    array = data;
  } else if (ArrayBuffer.isView(data)) {
    array = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  } else if (isBuffer(data)) {
    array = view(data, name);
  } else {
    throw new TypeError(`${name} must be a string, a typed array, a DataView or an ArrayBuffer, not ${kind(data)}`);
  }
  // A view of a buffer that was transferred has no bytes either.
  if (array.byteLength === 0) view(array.buffer, name);
  return array;
}

function isBuffer(data: unknown): data is ArrayBuffer {
  const tag = Object.prototype.toString.call(data);
  return tag === "[object ArrayBuffer]" || tag === "[object SharedArrayBuffer]";
}

function view(buffer: ArrayBufferLike, name: string): Uint8Array {
  try {
    return new Uint8Array(buffer);
  } catch {
    throw new TypeError(`${name} belongs to an ArrayBuffer that was transferred elsewhere: hash it before, or its new owner`);
  }
}

/** A whole number of bytes. */
export function checkLength(value: unknown, name: string, most: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most) {
    throw new RangeError(`${name} must be a whole number from 0 to ${most}, not ${kind(value)}`);
  }
  return value;
}

/** A key of 32 bytes. */
export function checkKey(value: unknown): Uint8Array {
  if (!ArrayBuffer.isView(value)) throw new TypeError(`key must be a Uint8Array of 32 bytes, not ${kind(value)}`);
  const array = bytes(value, "key");
  if (array.length !== 32) throw new RangeError(`key must have 32 bytes, not ${array.length}`);
  return array;
}

const encoder = new TextEncoder();

const MOST_CONTEXT = INPUT;

/** Puts the key of the mode to its place in the memory, and returns the number of the mode. The input is overwritten. */
export function setMode(mode: Mode): number {
  start();
  const { key: bytesOfKey, context } = mode;
  if (bytesOfKey !== undefined) {
    if (context !== undefined) throw new TypeError("key and context exclude each other: the modes are keyed and derive-key");
    memory.set(checkKey(bytesOfKey), key);
    return 1;
  }
  if (context === undefined) return 0;
  if (typeof context !== "string") throw new TypeError(`context must be a string, not ${kind(context)}`);
  const { read, written } = encoder.encodeInto(context, window_);
  if (read < context.length) throw new RangeError(`context must have at most ${MOST_CONTEXT} bytes`);
  wasm.context(written);
  return 2;
}

/** Where the output goes: `out`, or a new array. */
export function place(options: Pick<Options, "length" | "out">): Uint8Array {
  const { length, out } = options;
  if (length !== undefined) checkLength(length, "length");
  if (out === undefined) return new Uint8Array(length ?? 32);
  if (!(out instanceof Uint8Array)) throw new TypeError(`out must be a Uint8Array, not ${kind(out)}`);
  bytes(out, "out");
  if (length !== undefined && out.length !== length) {
    throw new RangeError(`out has ${out.length} bytes, but length is ${length}`);
  }
  return out;
}

/** Appends input of any size to the hasher in a place. */
export function feed(at: number, data: Input, name: string): void {
  if (typeof data === "string") {
    for (let rest = data; rest.length > 0; ) {
      const { read, written } = encoder.encodeInto(rest, window_);
      wasm.update(at, written);
      rest = rest.slice(read);
    }
    return;
  }
  const array = bytes(data, name);
  if (array.length <= INPUT) {
    memory.set(array, input);
    wasm.update(at, array.length);
    return;
  }
  for (let done = 0; done < array.length; done += INPUT) {
    const part = array.subarray(done, done + INPUT);
    memory.set(part, input);
    wasm.update(at, part.length);
  }
}

/**
 * Puts the whole input into the window, and returns its length. If it does not fit, it goes to the hasher of the scratch place,
 * which must have been started, and -1 is returned.
 */
export function put(data: Input, name: string): number {
  if (typeof data === "string") {
    // A text of at most as many code units fits, or is written in part.
    if (data.length <= INPUT) {
      const { read, written } = encoder.encodeInto(data, window_);
      if (read === data.length) return written;
    }
  } else {
    const array = bytes(data, name);
    if (array.length <= INPUT) {
      memory.set(array, input);
      return array.length;
    }
    data = array;
  }
  feed(SCRATCH, data, name);
  return -1;
}
