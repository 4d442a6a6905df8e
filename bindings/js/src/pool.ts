import { compiledModule, key as keyAt, memory, ready } from "./engine.js";
import { openFile } from "./file.js";
import { checkKey, checkLength, checkOut, place, setMode, taken, type Bytes } from "./input.js";
import { isNode, nodeModule, type NodeWorker } from "./node.js";
import { parts, pieces } from "./part.js";
import { blobOptions, checkBlob, hashBlob, hashPieces, type BlobOptions } from "./stream.js";
import { join } from "./subtrees.js";
import type { Answer, Task } from "./worker.js";
import { text as source } from "treewide:worker";

/** A worker, as far as a pool uses it: programs for Node alone have no types of the `Worker` of browsers. */
export interface PoolWorker {
  postMessage(message: unknown): void;
  terminate(): unknown;
}

export interface PoolOptions {
  /**
   * Makes a worker that runs `treewide/worker`. Needed only under a content security policy without `worker-src blob:`:
   * with Vite and webpack `() => new Worker(new URL("treewide/worker", import.meta.url), { type: "module" })`. A pool waits for a
   * worker that never answers until `signal` of the call ends it.
   */
  createWorker?: (() => PoolWorker) | undefined;
}

/** Parts that a worker has at the same time: one is read while the other is hashed. */
const AHEAD = 2;

const CLOSED = "the pool is closed";

/** A worker of a browser or of Node. */
interface Thread {
  worker: Worker;
  /** The worker again, in Node. */
  node: NodeWorker | undefined;
  tasks: Map<number, { resolve(cv: Uint8Array): void; reject(error: Error): void }>;
}

/**
 * Bytes of a part, a power of two. Browsers stream parts, and with parts of 4 MiB Chromium took 1.5 times as long as with 16 MiB: as
 * many as leave two parts for each worker. In Node, where the calling thread reads, parts of 4 MiB took 1.3 times as long as of
 * 2 MiB (`results/zen4-2vcpu/wasm.md#parts-of-a-pool`).
 */
function partLength(size: number, workers: number): number {
  if (isNode()) return 2 << 20;
  return 2 ** Math.min(Math.max(Math.floor(Math.log2(size / (2 * workers))), 22), 24);
}

/** Parts that workers read themselves. */
async function* cut(blob: Blob, length: number): AsyncGenerator<Blob> {
  for (let at = 0; at < blob.size; at += length) yield blob.slice(at, at + length);
}

function makeWorker(): Worker {
  const threads = nodeModule("node:worker_threads");
  if (threads) return new threads.Worker(source, { eval: true });
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return new Worker(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Workers that hash parts of a blob at the same time. It uses no `SharedArrayBuffer`, so pages need no special headers.
 *
 * ```js
 * const pool = new Pool(4);
 * await pool.hashBlob(file);
 * pool.close();
 * ```
 */
export class Pool {
  #threads: Thread[] = [];
  #next = 0;
  #closed = false;
  #count: number;
  #create: () => PoolWorker;
  #started: Promise<void> | undefined;

  /** Makes a pool of `threads` workers, which start with the first blob; by default as many as the machine has threads, or 4 in Node 20. */
  constructor(threads: number = globalThis.navigator?.hardwareConcurrency ?? 4, options?: PoolOptions) {
    if (checkLength(threads, "threads", 1024) === 0) throw new RangeError("threads must be at least 1, not the number 0");
    this.#count = threads;
    this.#create = taken(options, ["createWorker"]).createWorker ?? makeWorker;
  }

  async #start(): Promise<void> {
    await ready();
    const module = compiledModule();
    for (let index = 0; index < this.#count && !this.#closed; index++) {
      const worker = this.#create() as Worker;
      const node = "on" in worker ? (worker as NodeWorker) : undefined;
      const thread: Thread = { worker, node, tasks: new Map() };
      const answer = (data: Answer) => {
        const task = thread.tasks.get(data.id);
        thread.tasks.delete(data.id);
        if (thread.tasks.size === 0) thread.node?.unref();
        if ("cv" in data) task?.resolve(data.cv);
        else task?.reject(new Error(data.error));
      };
      const fail = (error: unknown) => {
        // A worker that was ended before says nothing about its successor.
        if (!this.#threads.includes(thread)) return;
        const message = (error as Error | undefined)?.message || "it cannot be loaded";
        const text = `a worker of the pool failed: ${message}; a content security policy may forbid it, see PoolOptions.createWorker`;
        this.#fail(new Error(text));
      };
      if (node) {
        node.on("message", answer);
        node.on("error", fail);
        node.on("exit", () => fail(new Error("it ended")));
        // A pool keeps a program from ending only while it hashes. Listeners undo it, so it comes after them.
        node.unref();
      } else {
        worker.onmessage = ({ data }) => answer(data);
        worker.onerror = fail;
        worker.onmessageerror = fail;
      }
      worker.postMessage(module);
      this.#threads.push(thread);
    }
  }

  #fail(error: Error): void {
    for (const { tasks, worker } of this.#threads) {
      for (const task of tasks.values()) task.reject(error);
      tasks.clear();
      worker.terminate();
    }
    this.#threads = [];
    this.#started = undefined;
  }

  #run(thread: Thread, task: Omit<Task, "id">): Promise<Uint8Array> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error(CLOSED));
      if (!this.#threads.includes(thread)) return reject(new Error("a worker of the pool failed"));
      thread.node?.ref();
      thread.tasks.set(id, { resolve, reject });
      thread.worker.postMessage({ id, ...task }, ArrayBuffer.isView(task.part) ? [task.part.buffer as ArrayBuffer] : []);
    });
  }

  /** Hashes a `Blob` or a `File` with all workers, and returns `out` with the output. */
  hashBlob<Out extends Uint8Array>(blob: Blob, options: BlobOptions & { out: Out }): Promise<Out>;
  /** Hashes a `Blob` or a `File` with all workers. */
  hashBlob(blob: Blob, options?: BlobOptions): Promise<Bytes>;
  async hashBlob(blob: Blob, options?: BlobOptions): Promise<Uint8Array> {
    const given = blobOptions(options);
    const { size } = checkBlob(blob);
    const length = partLength(size, this.#count);
    if (size <= length && !this.#closed) return hashBlob(blob, given);
    // A worker of Node 20 that reads a blob of `openAsBlob` ends the process.
    return this.#hash(size, length, isNode() ? parts(pieces(blob), length) : cut(blob, length), given, (blob as File).name);
  }

  /** Hashes a file of Node with all workers, and returns `out` with the output. */
  hashFile<Out extends Uint8Array>(path: string | URL, options: BlobOptions & { out: Out }): Promise<Out>;
  /** Hashes a file of Node with all workers. */
  hashFile(path: string | URL, options?: BlobOptions): Promise<Bytes>;
  async hashFile(path: string | URL, options?: BlobOptions): Promise<Uint8Array> {
    const given = blobOptions(options);
    const file = await openFile(path);
    try {
      const length = partLength(file.size, this.#count);
      if (file.size <= length && !this.#closed) return await hashPieces(file.pieces(), file.size, given);
      return await this.#hash(file.size, length, parts(file.pieces(), length), given, undefined);
    } finally {
      await file.close();
    }
  }

  async #hash(size: number, length: number, parts: AsyncGenerator<Blob | Uint8Array>, given: BlobOptions, name: string | undefined): Promise<Uint8Array> {
    if (this.#closed) throw new Error(CLOSED);
    const out = place(given);
    // The caller may clear the key while workers start.
    if (given.key !== undefined) given.key = new Uint8Array(checkKey(given.key));
    const { signal, onProgress } = given;
    signal?.throwIfAborted();
    await (this.#started ??= this.#start().catch((error: Error) => {
      // The next blob tries again.
      this.#fail(error);
      throw error;
    }));
    const mode = setMode(given);
    const key = mode === 0 ? undefined : memory.slice(keyAt, keyAt + 32);
    const cvs: Uint8Array[] = [];
    let [next, done] = [0, 0];
    // The first error stops all of them.
    let stopped = false;
    const work = async (thread: Thread) => {
      while (!stopped) {
        // A generator answers calls in their order.
        const index = next++;
        const { value: part, done: isEnd } = await parts.next();
        if (isEnd || stopped) return;
        const bytes = ArrayBuffer.isView(part) ? part.length : part.size;
        cvs[index] = await this.#run(thread, { part, name, offset: index * length, mode, key });
        done += bytes;
        if (!stopped) onProgress?.(done, size);
      }
    };
    let abort!: () => void;
    const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal!.reason)));
    signal?.addEventListener("abort", abort);
    try {
      const threads = this.#threads.flatMap((thread) => new Array<Thread>(AHEAD).fill(thread));
      if (threads.length === 0) throw new Error(CLOSED);
      await Promise.race([Promise.all(threads.map(work)), aborted]);
      signal?.throwIfAborted();
    } finally {
      stopped = true;
      signal?.removeEventListener("abort", abort);
      void parts.return(undefined);
    }
    // It may have been transferred elsewhere.
    if (given.out !== undefined) checkOut(given.out);
    join({ mode, key }, cvs, out);
    return given.out ?? out;
  }

  /** Ends the workers. What is being hashed is rejected. */
  close(): void {
    this.#closed = true;
    this.#fail(new Error(CLOSED));
  }
}
