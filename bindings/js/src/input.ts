// What callers pass: checked here, with errors that name the argument and what it was.
//
// Getters, proxies and methods of subclasses may hash something else, which overwrites the memory. So options are read once, before
// the memory is used, and arrays only through the getters of the language, which run no code of the caller.

import { INPUT, SCRATCH, input, key, memory, start, wasm, window_ } from "./engine.js";

/** Bytes in memory of their own, which `Blob` and `crypto.subtle` take: `Uint8Array<ArrayBuffer>`, from TypeScript 5.7 on. */
export type Bytes = ReturnType<typeof Uint8Array.of>;

/** An input. Text is hashed as UTF-8; a view as the bytes that it shows. */
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

export const MODE = ["key", "context"] as const;
export const OUTPUTS = ["length", "out"] as const;
export const OPTIONS = [...MODE, ...OUTPUTS] as const;

/** Describes a value, for an error. */
export function kind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  if (typeof value === "object") return `an object of type ${value.constructor?.name ?? "Object"}`;
  return `a ${typeof value}`;
}

/** A copy of options, which have these names and no others; `argument` is their name. */
export function taken<T extends object>(options: T | undefined, names: readonly (keyof T & string)[], argument = "options"): T {
  if (options === undefined) return {} as T;
  const prototype = typeof options === "object" && options !== null ? Object.getPrototypeOf(options) : undefined;
  // Objects of other realms have another `Object.prototype`, which has no prototype either.
  if (prototype === undefined || (prototype !== null && Object.getPrototypeOf(prototype) !== null)) {
    throw new TypeError(`${argument} must be an object with some of ${names.join(", ")}, not ${kind(options)}`);
  }
  const copy = { ...options };
  for (const name of Object.keys(copy)) {
    if (!(names as readonly string[]).includes(name)) throw new TypeError(`${argument} has no ${name}; it has ${names.join(", ")}`);
  }
  return copy;
}

const getter = (prototype: object, name: string | symbol) => Object.getOwnPropertyDescriptor(prototype, name)!.get!;
const [typedArray, dataView] = [Object.getPrototypeOf(Uint8Array.prototype), DataView.prototype];
const tag = getter(typedArray, Symbol.toStringTag);
const lengthOf_ = getter(typedArray, "length");
const [buffer, offset, byteLength] = ["buffer", "byteOffset", "byteLength"].map((name) => [getter(typedArray, name), getter(dataView, name)]) as [Getters, Getters, Getters];
const sizeOfBuffer = getter(ArrayBuffer.prototype, "byteLength");
const sizeOfShared = typeof SharedArrayBuffer === "undefined" ? undefined : getter(SharedArrayBuffer.prototype, "byteLength");
type Getters = [() => unknown, () => unknown];

/** Whether a value is a `Uint8Array`, also one of another realm. */
export const isBytes = (value: unknown): value is Uint8Array => tag.call(value) === "Uint8Array";

/** The length of an array for which {@link isBytes} is true. */
export const lengthOf = (array: Uint8Array): number => lengthOf_.call(array);

/** A name of an argument; a number is that of an input in a list. */
export type Name = string | number;

const named = (name: Name) => (typeof name === "number" ? `list[${name}]` : name);

function transferred(name: Name): TypeError {
  return new TypeError(`${named(name)} belongs to an ArrayBuffer that was transferred: hash it before that`);
}

/** The bytes of a view or buffer, as an array of this realm, without a copy. */
export function bytes(data: unknown, name: Name, text = ""): Uint8Array {
  if (ArrayBuffer.isView(data)) {
    const which = tag.call(data) === undefined ? 1 : 0;
    try {
      const view = new Uint8Array(buffer[which].call(data) as ArrayBuffer, offset[which].call(data) as number, byteLength[which].call(data) as number);
      // A view of a buffer that was transferred has no bytes either.
      if (view.length === 0) new Uint8Array(view.buffer);
      return view;
    } catch {
      throw transferred(name);
    }
  }
  if (isBuffer(data)) {
    try {
      return new Uint8Array(data);
    } catch {
      throw transferred(name);
    }
  }
  throw new TypeError(`${named(name)} must be ${text}a typed array, a DataView or an ArrayBuffer, not ${kind(data)}`);
}

function isBuffer(data: unknown): data is ArrayBuffer {
  return [sizeOfBuffer, sizeOfShared].some((size) => {
    try {
      size!.call(data);
      return true;
    } catch {
      return false;
    }
  });
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
  if (isBytes(value) && lengthOf(value) === 32) return value;
  const array = bytes(value, "key");
  if (array.length !== 32) throw new RangeError(`key must have 32 bytes, not ${array.length}`);
  return array;
}

let encoder: TextEncoder | undefined;

/** Writes text as UTF-8. The encoder is made at the first text: jsdom has none. */
export function encode(text: string, into: Uint8Array): { read: number; written: number } {
  if (!encoder) {
    if (typeof TextEncoder === "undefined") throw new Error("this environment has no TextEncoder, which text needs: hash bytes");
    encoder = new TextEncoder();
  }
  return encoder.encodeInto(text, into);
}

const MOST_CONTEXT = INPUT;

/** Puts the key of the mode to its place in the memory, and returns the number of the mode. The input is overwritten. */
export function setMode({ key: bytesOfKey, context }: Mode): number {
  start();
  if (bytesOfKey !== undefined) {
    if (context !== undefined) throw new TypeError("key and context exclude each other: the modes are keyed and derive-key");
    memory.set(checkKey(bytesOfKey), key);
    return 1;
  }
  if (context === undefined) return 0;
  if (typeof context !== "string") throw new TypeError(`context must be a string, not ${kind(context)}`);
  const { read, written } = encode(context, window_);
  if (read < context.length) throw new RangeError(`context must have at most ${MOST_CONTEXT} bytes`);
  wasm.context(written);
  return 2;
}

/** The bytes of an array for output. */
export function checkOut(out: unknown): Uint8Array {
  if (!isBytes(out)) throw new TypeError(`out must be a Uint8Array, not ${kind(out)}`);
  // A view takes time, which these need not: their methods are those of the language.
  return Object.getPrototypeOf(out) === Uint8Array.prototype && lengthOf(out) > 0 ? out : bytes(out, "out");
}

/** Where the output goes: the bytes of `out`, or a new array. */
export function place({ length, out }: Pick<Options, "length" | "out">): Uint8Array {
  if (length !== undefined) checkLength(length, "length");
  if (out === undefined) return new Uint8Array(length ?? 32);
  const array = checkOut(out);
  if (length !== undefined && array.length !== length) {
    throw new RangeError(`out has ${array.length} bytes, but length is ${length}`);
  }
  return array;
}

/** Appends input of any size to the hasher in a place. */
export function feed(at: number, data: Input, name: Name): void {
  if (typeof data === "string") {
    for (let rest = data; rest.length > 0; ) {
      const { read, written } = encode(rest, window_);
      wasm.update(at, written);
      rest = rest.slice(read);
    }
    return;
  }
  if (isBytes(data)) {
    const length = lengthOf(data);
    if (length > 0 && length <= INPUT) {
      memory.set(data, input);
      wasm.update(at, length);
      return;
    }
  }
  const array = bytes(data, name, "a string, ");
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
export function put(data: Input, name: Name): number {
  if (typeof data === "string") {
    // A text of at most as many code units fits, or is written in part.
    if (data.length <= INPUT) {
      const { read, written } = encode(data, window_);
      if (read === data.length) return written;
    }
  } else {
    const known = isBytes(data) ? lengthOf(data) : 0;
    if (known > 0 && known <= INPUT) {
      memory.set(data as Uint8Array, input);
      return known;
    }
    const array = bytes(data, name, "a string, ");
    if (array.length <= INPUT) {
      memory.set(array, input);
      return array.length;
    }
    data = array;
  }
  feed(SCRATCH, data, name);
  return -1;
}
