/**
 * The functions of the package `blake3-wasm` 2.1 in browsers.
 *
 * @module treewide/blake3-wasm
 */
import { Hasher, type Xof } from "../index.js";
import { BaseHash, BaseHashReader, hashInto, isBytes, normalizeInput } from "./common.js";
import type { HashInput, IBaseHashOptions, IHasherDigestOptions } from "./common.js";

export { ready } from "../index.js";
export { BaseHash, BaseHashReader, defaultHashLength, inputToArray, maxHashBytes, using } from "./common.js";
export type { BaseHashInput, HashInput, IBaseHashOptions, IDisposable, IHasherDigestOptions } from "./common.js";

export type BrowserEncoding = "hex" | "base64" | "utf8";

const ENCODERS: Record<BrowserEncoding, (bytes: Uint8Array) => string> = {
  hex: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  base64: (bytes) => btoa(String.fromCharCode(...bytes)),
  utf8: (bytes) => new TextDecoder().decode(bytes),
};

/** A digest, which knows its texts. */
export class Hash extends Uint8Array {
  /** Compares in constant time. */
  equals(other: unknown): boolean {
    if (!isBytes(other) || other.length !== this.length) return false;
    let differs = 0;
    for (let at = 0; at < this.length; at++) differs |= this[at]! ^ other[at]!;
    return differs === 0;
  }

  override toString(encoding: BrowserEncoding = "hex"): string {
    const encode = ENCODERS[encoding];
    if (!encode) throw new Error(`Unknown encoding ${encoding}`);
    return encode(this);
  }
}

const make = (length: number) => new Hash(length);

/** Hashes an input. */
export function hash(input: HashInput, { length = 32 }: IBaseHashOptions = {}): Hash {
  return hashInto(normalizeInput(input), make(length));
}

/** Derives a key from material for the purpose that the context names. */
export function deriveKey(context: string, material: HashInput, { length = 32 }: IBaseHashOptions = {}): Hash {
  return hashInto(normalizeInput(material), make(length), { context });
}

/** Hashes an input with a key of 32 bytes. */
export function keyedHash(key: Uint8Array, input: HashInput, { length = 32 }: IBaseHashOptions = {}): Hash {
  return hashInto(normalizeInput(input), make(length), { key });
}

/** Extended output. */
export class BrowserHashReader extends BaseHashReader<Hash> {
  constructor(xof: Xof) {
    super(xof, make);
  }

  override toString(encoding: BrowserEncoding = "hex"): string {
    return this.toArray().toString(encoding);
  }

  toArray(): Hash {
    return this.first();
  }
}

/** A hasher like that of `node:crypto`. */
export class BrowserHasher {
  #hash: BaseHash<Hash, BrowserHashReader>;

  constructor(hasher: Hasher) {
    this.#hash = new BaseHash(hasher, make, (xof) => new BrowserHashReader(xof));
  }

  update(data: HashInput): this {
    this.#hash.update(normalizeInput(data));
    return this;
  }

  digest(options?: IHasherDigestOptions): Hash;
  digest(encoding: undefined, options: IHasherDigestOptions): Hash;
  digest(encoding: BrowserEncoding, options?: IHasherDigestOptions): string;
  digest(encoding?: BrowserEncoding | IHasherDigestOptions, options?: IHasherDigestOptions): Hash | string {
    if (typeof encoding === "object") return this.#hash.digest(encoding);
    const digest = this.#hash.digest(options);
    return encoding ? digest.toString(encoding) : digest;
  }

  reader(options?: { dispose?: boolean }): BrowserHashReader {
    return this.#hash.reader(options);
  }

  dispose(): void {
    this.#hash.dispose();
  }
}

export const createHash = (): BrowserHasher => new BrowserHasher(new Hasher());
export const createKeyed = (key: Uint8Array): BrowserHasher => new BrowserHasher(Hasher.keyed(key));
export const createDeriveKey = (context: string): BrowserHasher => new BrowserHasher(Hasher.deriveKey(context));
