// The program of a worker of a pool. It gets the compiled module first, then parts of blobs, and returns chaining values.

import { startWith } from "./engine.js";
import { pieces } from "./part.js";
import { chainingValue, chainingValueOf } from "./subtrees.js";

export interface Task {
  id: number;
  /** The bytes, or the blob that has them. */
  part: Blob | Uint8Array;
  /** The name of the file, for errors: a part of it has none. */
  name: string | undefined;
  offset: number;
  mode: number;
  key: Uint8Array | undefined;
}

export type Answer = { id: number; cv: Uint8Array } | { id: number; error: string };

interface Port {
  postMessage(message: Answer): void;
  addEventListener(type: "message", listener: (event: { data: WebAssembly.Module | Task }) => void): void;
  start?(): void;
}

const scope = globalThis as unknown as Port & { process?: { getBuiltinModule?(name: string): { parentPort: Port } } };
const port: Port = scope.process?.getBuiltinModule?.("node:worker_threads").parentPort ?? scope;

port.addEventListener("message", async ({ data }) => {
  if (!("id" in data)) return startWith(data);
  const { id, part, offset, name } = data;
  try {
    if (ArrayBuffer.isView(part)) {
      port.postMessage({ id, cv: chainingValue(data, part, offset) });
    } else {
      const file = Object.assign(part, { name });
      port.postMessage({ id, cv: await chainingValueOf(data, pieces(file, offset), offset) });
    }
  } catch (error) {
    port.postMessage({ id, error: String((error as Error)?.message ?? error) });
  }
});
port.start?.();
