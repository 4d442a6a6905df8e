/**
 * The functions of the package `blake3-wasm` 2.1 in Node: digests are buffers, and hashers are streams.
 *
 * @module treewide/blake3-wasm
 */
import { Transform, type TransformCallback } from "node:stream";
import { Hasher, type Xof } from "../index.js";
import { BaseHash, BaseHashReader, hashInto, inputToArray } from "./common.js";
import type { HashInput, IBaseHashOptions, IHasherDigestOptions } from "./common.js";

export { ready } from "../index.js";
export { BaseHash, BaseHashReader, defaultHashLength, inputToArray, maxHashBytes, using } from "./common.js";
export type { BaseHashInput, HashInput, IBaseHashOptions, IDisposable, IHasherDigestOptions } from "./common.js";

const make = (length: number) => Buffer.alloc(length);

/** Input as `treewide` takes it. */
export function normalizeInput(input: HashInput, encoding?: BufferEncoding): Uint8Array | string {
  if (typeof input !== "string") return inputToArray(input);
  // UTF-8 needs no copy.
  return encoding && !/^utf-?8$/i.test(encoding) ? Buffer.from(input, encoding) : input;
}

/** Hashes an input. */
export function hash(input: HashInput, { length = 32 }: IBaseHashOptions = {}): Buffer {
  return hashInto(normalizeInput(input), make(length));
}

/** Derives a key from material for the purpose that the context names. */
export function deriveKey(context: string, material: HashInput, { length = 32 }: IBaseHashOptions = {}): Buffer {
  return hashInto(normalizeInput(material), make(length), { context });
}

/** Hashes an input with a key of 32 bytes. */
export function keyedHash(key: Uint8Array, input: HashInput, { length = 32 }: IBaseHashOptions = {}): Buffer {
  return hashInto(normalizeInput(input), make(length), { key });
}

/** Extended output. */
export class NodeHashReader extends BaseHashReader<Buffer> {
  constructor(xof: Xof) {
    super(xof, make);
  }

  override toString(encoding: BufferEncoding = "hex"): string {
    return this.toBuffer().toString(encoding);
  }

  toBuffer(): Buffer {
    return this.first();
  }
}

/** A hasher like that of `node:crypto`, and a stream whose output is the digest. */
export class NodeHash extends Transform {
  #hash: BaseHash<Buffer, NodeHashReader>;

  constructor(hasher: Hasher) {
    super();
    this.#hash = new BaseHash(hasher, make, (xof) => new NodeHashReader(xof));
  }

  update(data: HashInput, encoding?: BufferEncoding): this {
    this.#hash.update(normalizeInput(data, encoding));
    return this;
  }

  digest(options?: IHasherDigestOptions): Buffer;
  digest(encoding: undefined, options: IHasherDigestOptions): Buffer;
  digest(encoding: BufferEncoding, options?: IHasherDigestOptions): string;
  digest(encoding?: BufferEncoding | IHasherDigestOptions, options?: IHasherDigestOptions): Buffer | string {
    if (typeof encoding === "object") return this.#hash.digest(encoding);
    const digest = this.#hash.digest(options);
    return encoding ? digest.toString(encoding) : digest;
  }

  reader(options?: { dispose?: boolean }): NodeHashReader {
    return this.#hash.reader(options);
  }

  dispose(): void {
    this.#hash.dispose();
  }

  override _transform(chunk: Buffer | string, encoding: BufferEncoding | "buffer", callback: TransformCallback): void {
    this.update(chunk, encoding === "buffer" ? undefined : encoding);
    callback();
  }

  override _flush(callback: TransformCallback): void {
    callback(null, this.digest());
  }
}

export const createHash = (): NodeHash => new NodeHash(new Hasher());
export const createKeyed = (key: Uint8Array): NodeHash => new NodeHash(Hasher.keyed(key));
export const createDeriveKey = (context: string): NodeHash => new NodeHash(Hasher.deriveKey(context));
