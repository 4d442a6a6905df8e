/**
 * BLAKE3 in WebAssembly. Everything is synchronous, except for functions that read streams, blobs and files. On the main thread of a
 * browser, `await ready()` once before.
 *
 * @module treewide
 */
export { ready } from "./engine.js";
export { hash, hashHex } from "./hash.js";
export { hashMany, type Packed } from "./many.js";
export { Hasher, Xof } from "./hasher.js";
export { hashStream, hashBlob, hashFile, type BlobOptions, type StreamOptions } from "./stream.js";
export { Pool, type PoolOptions, type PoolWorker } from "./pool.js";
export { verifyRange, groupsAround, VerifyError, type Whole } from "./outboard.js";
export type { Bytes, Input, Mode, Options } from "./input.js";
