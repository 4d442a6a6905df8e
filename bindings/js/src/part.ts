import { isNode } from "./node.js";

/** Blobs of browsers that are shorter are read as one slice. */
const SLICE = 4 << 20;

/** Bytes that engines read from a file by one call of the system, so that they are what it had at one time. */
const AT_ONCE = 64 << 10;

const nameOf = (blob: Blob) => ((blob as File).name ? `\`${(blob as File).name}'` : "the blob");

const ended = (blob: Blob, at: number) => new Error(`${nameOf(blob)} ended while it was being read, at byte ${at}: choose it again`);

const changed = (blob: Blob, at: number, cause: unknown) =>
  new Error(`${nameOf(blob)} cannot be read at byte ${at}: if it was changed, choose it again`, { cause });

/** Reads a part of a blob, which begins at byte `offset` of another. A file that changed since it was chosen is an error. */
async function readPart(blob: Blob, from: number, to: number, offset: number): Promise<Uint8Array<ArrayBuffer>> {
  let buffer;
  try {
    buffer = await blob.slice(from, to).arrayBuffer();
  } catch (cause) {
    throw changed(blob, offset + from, cause);
  }
  if (buffer.byteLength !== to - from) throw ended(blob, offset + from + buffer.byteLength);
  return new Uint8Array(buffer);
}

async function* slices(blob: Blob, offset: number, from: number): AsyncGenerator<Uint8Array> {
  const { size } = blob;
  const read = (from: number) => {
    const part = readPart(blob, from, Math.min(from + SLICE, size), offset);
    // It may be awaited only after the one before it failed.
    part.catch(() => {});
    return part;
  };
  let next = read(from);
  for (let done = from; done < size; ) {
    const part = await next;
    done += part.length;
    if (done < size) next = read(done);
    yield part;
  }
}

async function* chunks(blob: Blob, offset: number): AsyncGenerator<Uint8Array> {
  const reader = blob.stream().getReader();
  let done = 0;
  try {
    for (;;) {
      let result;
      try {
        result = await reader.read();
      } catch (cause) {
        if (isNode()) throw changed(blob, offset + done, cause);
        // Chromium ends streams with "network error" where several large parts of one blob in memory are read at once. Slices
        // continue, or say why not.
        yield* slices(blob, offset, done);
        return;
      }
      if (result.done) break;
      done += result.value.length;
      // `openAsBlob` gives sizes modulo 4 GiB, and slices end there (nodejs/node#52585). Streams do not.
      if (done > blob.size) {
        const why = isNode() ? "Node is wrong about files from 4 GiB on: hash them by hashFile" : "choose it again";
        throw new Error(`${nameOf(blob)} has more than ${blob.size} bytes, which is its size: ${why}`);
      }
      yield result.value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (done !== blob.size) throw ended(blob, offset + done);
}

/**
 * @internal Reads a blob, which begins at byte `offset` of another, piece by piece: as the engine streams it, of at most 2 MiB in
 * Chromium, or as one slice if that is all. With slices, Chromium takes up to 1.7 times as long
 * (`results/zen4-2vcpu/wasm.md#parts-of-a-pool`).
 */
export async function* pieces(blob: Blob, offset: number = 0): AsyncGenerator<Uint8Array> {
  const { size } = blob;
  // Blobs of jsdom have no streams.
  const hasStream = typeof blob.stream === "function";
  yield* hasStream && (isNode() || size >= SLICE) ? chunks(blob, offset) : slices(blob, offset, 0);
  // Engines look for changes when they begin to read, so what changes later would be hashed as it is then: a byte more is read at
  // the end, which also looks.
  if (size > AT_ONCE) await readPart(blob, size - 1, size, offset);
}

/** @internal Joins and cuts pieces to parts of the same length, in memory of their own; the last one may be shorter. */
export async function* parts(pieces: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let part = new Uint8Array(length);
  let filled = 0;
  for await (const piece of pieces) {
    for (let done = 0; done < piece.length; ) {
      const some = piece.subarray(done, done + length - filled);
      part.set(some, filled);
      done += some.length;
      filled += some.length;
      if (filled < length) continue;
      yield part;
      [part, filled] = [new Uint8Array(length), 0];
    }
  }
  if (filled > 0) yield part.slice(0, filled);
}
