import { Hasher } from "./hasher.js";
import { openFile } from "./file.js";
import { pieces } from "./part.js";
import { OPTIONS, kind, place, taken, type Bytes, type Input, type Options } from "./input.js";

/** The mode, how much output is wanted, and what to call while reading. */
export interface StreamOptions extends Options {
  /** Is called after each piece with the bytes so far, and how many there are, if that is known. */
  onProgress?: ((done: number, total: number | undefined) => void) | undefined;
  /** Stops: the promise is rejected with the signal's reason; for an iterable that is not a stream, when its next piece is there. */
  signal?: AbortSignal | undefined;
}

/** The mode, how much output is wanted, and what to call while reading a blob. */
export interface BlobOptions extends Options {
  /** Is called after each piece with the bytes so far, and how many the blob has. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** Stops: the promise is rejected with the signal's reason, when the piece that is being read is there. */
  signal?: AbortSignal | undefined;
}

/** A hasher of the mode. */
function hasherOf({ key, context }: Options): Hasher {
  if (key !== undefined && context !== undefined) {
    throw new TypeError("key and context exclude each other: the modes are keyed and derive-key");
  }
  if (key !== undefined) return Hasher.keyed(key);
  return context === undefined ? new Hasher() : Hasher.deriveKey(context);
}

async function* chunksOf(stream: ReadableStream<Input>, signal: AbortSignal | undefined): AsyncGenerator<Input> {
  const reader = stream.getReader();
  let ended = false;
  // Ends a `read` that waits.
  const stop = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    // As `for await` does it: a program that stops reading closes the stream.
    if (!ended) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

/** Hashes a stream to its end, and returns `out` with the output. */
export async function hashStream<Out extends Uint8Array>(
  stream: ReadableStream<Input> | AsyncIterable<Input> | Iterable<Input>,
  options: StreamOptions & { out: Out },
): Promise<Out>;
/**
 * Hashes a stream to its end: a `ReadableStream`, a stream of Node, or anything for `for await`.
 *
 * ```js
 * const { body } = await fetch(url); // in TypeScript `body!`: some responses have none
 * await hashStream(body, { onProgress: (done) => console.log(done) });
 * ```
 */
export async function hashStream(
  stream: ReadableStream<Input> | AsyncIterable<Input> | Iterable<Input>,
  options?: StreamOptions,
): Promise<Bytes>;
export async function hashStream(
  stream: ReadableStream<Input> | AsyncIterable<Input> | Iterable<Input>,
  options?: StreamOptions,
): Promise<Uint8Array> {
  let given: StreamOptions, hasher: Hasher, out: Uint8Array;
  let chunks: AsyncIterable<Input> | Iterable<Input>;
  try {
    given = taken(options, [...OPTIONS, "onProgress", "signal"]);
    hasher = hasherOf(given);
    out = place(given);
    if (typeof (stream as ReadableStream<Input>)?.getReader === "function") {
      chunks = chunksOf(stream as ReadableStream<Input>, given.signal);
    } else if (typeof stream === "object" && stream !== null && (Symbol.asyncIterator in stream || Symbol.iterator in stream)) {
      chunks = stream as AsyncIterable<Input>;
    } else {
      throw new TypeError(`stream must be a ReadableStream or an iterable, not ${kind(stream)}`);
    }
    given.signal?.throwIfAborted();
  } catch (error) {
    discard(stream, error);
    throw error;
  }
  const { signal, onProgress } = given;
  // A stream of Node ends with the reason as its error.
  const stop = () => (stream as { destroy?(error: Error): void }).destroy?.(signal!.reason);
  signal?.addEventListener("abort", stop);
  try {
    for await (const chunk of chunks) {
      signal?.throwIfAborted();
      hasher.update(chunk);
      onProgress?.(hasher.count, undefined);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
  }
  signal?.throwIfAborted();
  hasher.digest({ out });
  return given.out ?? out;
}

/** Ends a stream that is not read, as `pipeline` of Node does. */
function discard(stream: unknown, error: unknown): void {
  const it = stream as Partial<ReadableStream & { on(event: string, listener: () => void): void; destroy(error: unknown): void; return(): void }> | undefined | null;
  if (typeof it?.destroy === "function") {
    // Its own error, such as that of a file that is not there, would end the program.
    it.on?.("error", () => {});
    it.destroy(error);
  } else if (typeof it?.cancel === "function") {
    it.cancel(error).catch(() => {});
  } else if (typeof it?.return === "function") {
    it.return();
  }
}

/** Whether something is a blob, also of another realm. */
export function checkBlob(blob: unknown): Blob {
  const it = blob as Blob | undefined | null;
  if (typeof it?.slice !== "function" || typeof it.arrayBuffer !== "function") {
    throw new TypeError(`blob must be a Blob or a File, not ${kind(blob)}`);
  }
  return it;
}

/** Hashes a `Blob` or a `File` of any size, and returns `out` with the output. */
export async function hashBlob<Out extends Uint8Array>(blob: Blob, options: BlobOptions & { out: Out }): Promise<Out>;
/**
 * Hashes a `Blob` or a `File` of any size piece by piece, so it never is in memory as a whole.
 *
 * ```js
 * await hashBlob(input.files[0], { onProgress: (done, total) => (bar.value = done / total) });
 * ```
 */
export async function hashBlob(blob: Blob, options?: BlobOptions): Promise<Bytes>;
export async function hashBlob(blob: Blob, options?: BlobOptions): Promise<Uint8Array> {
  const given = blobOptions(options);
  return hashPieces(pieces(checkBlob(blob)), blob.size, given);
}

/** Hashes a file of Node of any size, and returns `out` with the output. */
export async function hashFile<Out extends Uint8Array>(path: string | URL, options: BlobOptions & { out: Out }): Promise<Out>;
/**
 * Hashes a file of Node of any size, a mebibyte at a time. A file that changes while it is being read is an error.
 *
 * ```js
 * await hashFile("package.json");
 * ```
 */
export async function hashFile(path: string | URL, options?: BlobOptions): Promise<Bytes>;
export async function hashFile(path: string | URL, options?: BlobOptions): Promise<Uint8Array> {
  const given = blobOptions(options);
  const file = await openFile(path);
  try {
    return await hashPieces(file.pieces(), file.size, given);
  } finally {
    await file.close();
  }
}

/** The options of functions that know how many bytes there are. */
export function blobOptions(options: BlobOptions | undefined): BlobOptions {
  return taken(options, [...OPTIONS, "onProgress", "signal"]);
}

/** Hashes the pieces of something that has `size` bytes. */
export async function hashPieces(pieces: AsyncIterable<Uint8Array>, size: number, given: BlobOptions): Promise<Uint8Array> {
  const hasher = hasherOf(given);
  const out = place(given);
  const { signal, onProgress } = given;
  signal?.throwIfAborted();
  let done = 0;
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    hasher.update(piece);
    done += piece.length;
    onProgress?.(done, size);
  }
  signal?.throwIfAborted();
  hasher.digest({ out });
  return given.out ?? out;
}
