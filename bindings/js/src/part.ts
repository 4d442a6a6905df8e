import { nodeThreads } from "./node.js";

/** @internal Bytes that are read at once in Node. They are in memory twice: some are read while others are hashed. */
export const SLICE = 4 << 20;

/** Bytes that engines read from a file by one call of the system, so that they are what it had at one time. */
const AT_ONCE = 64 << 10;

const nameOf = (blob: Blob) => ((blob as File).name ? `\`${(blob as File).name}'` : "the blob");

const ended = (blob: Blob, at: number) => new Error(`${nameOf(blob)} ended while it was being read, at byte ${at}: choose it again`);

/** @internal Reads a part of a blob, which begins at byte `offset` of another. A file that changed since it was chosen is an error. */
export async function readPart(blob: Blob, from: number, to: number, offset: number = 0): Promise<Uint8Array<ArrayBuffer>> {
  let buffer;
  try {
    buffer = await blob.slice(from, to).arrayBuffer();
  } catch (cause) {
    throw new Error(`${nameOf(blob)} cannot be read at byte ${offset + from}: if it was changed, choose it again`, { cause });
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
      } catch {
        // Chromium ends streams with "network error" where several large parts of one blob in memory are read at once. Slices
        // go on, or say why not.
        yield* slices(blob, offset, done);
        return;
      }
      if (result.done) break;
      done += result.value.length;
      yield result.value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (done !== blob.size) throw ended(blob, offset + done);
}

/**
 * @internal Fails if a file was changed while it was read. Engines look for changes when they begin to read, so what changes later
 * would be hashed as it is then: a byte more is read at the end, which also looks.
 */
export async function checkUnchanged(blob: Blob, offset: number = 0): Promise<void> {
  await readPart(blob, blob.size - 1, blob.size, offset);
}

/**
 * @internal Reads a blob, which begins at byte `offset` of another, piece by piece: of at most 4 MiB in Node, and as browsers stream
 * it, of at most 2 MiB in Chromium, unless one slice is all. With slices, Chromium takes up to 1.7 times as long (`results/zen4-2vcpu/wasm.md#parts-of-a-pool`).
 */
export async function* pieces(blob: Blob, offset: number = 0): AsyncGenerator<Uint8Array> {
  yield* nodeThreads() || blob.size < SLICE ? slices(blob, offset, 0) : chunks(blob, offset);
  if (blob.size > AT_ONCE) await checkUnchanged(blob, offset);
}
