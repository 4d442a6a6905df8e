// What the package `blake3-wasm` 2.1 exports on every platform, by the functions of this one. There is nothing to free:
// `dispose` only ends the use of an object, as there.

import { Hasher, hash as digest, type Xof } from "../index.js";

export type BaseHashInput = Uint8Array | ArrayBuffer | SharedArrayBuffer | ArrayLike<number>;
export type HashInput = BaseHashInput | string;

/** Options of functions that hash. */
export interface IBaseHashOptions {
  /** Bytes of output, 32 by default. */
  length?: number;
}

export interface IHasherDigestOptions extends IBaseHashOptions {
  /** Whether the hasher may be used afterwards: `false` if so. */
  dispose?: boolean;
}

/** An object that can be disposed of. */
export interface IDisposable {
  dispose(): void;
}

/** Bytes of output, unless a length is given. */
export const defaultHashLength = 32;

/** The most bytes of output. */
export const maxHashBytes = 18446744073709551615n;

/** Whether a value is a `Uint8Array`, also one of another realm. */
export const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";

/** Input as bytes. Unlike the functions of `treewide`, it takes lists of numbers. */
export function inputToArray(input: BaseHashInput): Uint8Array {
  // Views without a length are a `DataView`.
  const isDataView = ArrayBuffer.isView(input) && !("length" in input);
  if (isBytes(input)) return input;
  // `new Uint8Array` makes zeros of a number, and nothing of a `DataView`.
  if (typeof input !== "object" || input === null || isDataView) {
    throw new TypeError(`input must be a string, a Uint8Array, a buffer or a list of numbers, not ${isDataView ? "a DataView" : String(input)}`);
  }
  return new Uint8Array(input as ArrayLike<number>);
}

/** Input as `treewide` takes it. */
export function normalizeInput(input: HashInput): Uint8Array | string {
  return typeof input === "string" ? input : inputToArray(input);
}

/** Fills `out` with the digest of one input. */
export function hashInto<T extends Uint8Array>(input: Uint8Array | string, out: T, mode: { key?: Uint8Array; context?: string } = {}): T {
  return digest(input, { ...mode, out }) as T;
}

/** Calls `fn`, and disposes of the object when it returned, or when its promise is settled. */
export function using<T, D extends IDisposable>(disposable: D, fn: (disposable: D) => T): T {
  let result: T;
  try {
    result = fn(disposable);
  } catch (error) {
    disposable.dispose();
    throw error;
  }
  if (typeof (result as PromiseLike<unknown> | undefined)?.then === "function") {
    return (async () => {
      try {
        return await result;
      } finally {
        disposable.dispose();
      }
    })() as T;
  }
  disposable.dispose();
  return result;
}

/** Extended output, from a position that can be set. */
export class BaseHashReader<T extends Uint8Array> implements IDisposable {
  #xof: Xof | undefined;
  #position = 0n;
  #make: (length: number) => T;

  constructor(xof: Xof, make: (length: number) => T) {
    this.#xof = xof;
    this.#make = make;
  }

  get position(): bigint {
    return this.#position;
  }

  set position(position: bigint) {
    if (typeof position !== "bigint") throw new Error(`Got a ${typeof position} set in to reader.position, expected a bigint`);
    checkPosition(position);
    this.#position = position;
  }

  readInto(target: Uint8Array): void {
    if (!this.#xof) throw new Error("Cannot read from a hash after it was disposed");
    const end = this.#position + BigInt(target.length);
    checkPosition(end);
    this.#xof.seek(this.#position).fill(target);
    this.#position = end;
  }

  read(bytes: number): T {
    const data = this.#make(bytes);
    this.readInto(data);
    return data;
  }

  /** The first 32 bytes; afterwards the position is after them. */
  protected first(): T {
    this.position = 0n;
    return this.read(defaultHashLength);
  }

  dispose(): void {
    this.#xof = undefined;
  }
}

function checkPosition(position: bigint): void {
  if (position > maxHashBytes) throw new RangeError(`Cannot read past ${maxHashBytes} bytes in BLAKE3 hashes`);
  if (position < 0n) throw new RangeError("Cannot read to a negative position");
}

/** A hasher that ends with its first digest, unless that says `dispose: false`. */
export class BaseHash<T extends Uint8Array, R> implements IDisposable {
  #hasher: Hasher | undefined;
  #make: (length: number) => T;
  #reader: (xof: Xof) => R;

  constructor(hasher: Hasher, make: (length: number) => T, reader: (xof: Xof) => R) {
    this.#hasher = hasher;
    this.#make = make;
    this.#reader = reader;
  }

  #get(what: string): Hasher {
    if (!this.#hasher) throw new Error(`Cannot ${what} after dispose() has been called`);
    return this.#hasher;
  }

  update(data: Uint8Array | string): this {
    this.#get("continue updating hashing").update(data);
    return this;
  }

  digest({ length = defaultHashLength, dispose = true }: IHasherDigestOptions = {}): T {
    const out = this.#make(length);
    this.#get("call digest()").digest({ out });
    if (dispose) this.dispose();
    return out;
  }

  reader({ dispose = true }: { dispose?: boolean } = {}): R {
    const reader = this.#reader(this.#get("call reader()").xof());
    if (dispose) this.dispose();
    return reader;
  }

  dispose(): void {
    this.#hasher = undefined;
  }
}
