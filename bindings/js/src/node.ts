/** @internal A worker of Node, which is like one of browsers. */
export interface NodeWorker extends Worker {
  ref(): void;
  unref(): void;
  on(type: string, listener: (value: never) => void): void;
}

type NodeThreads = { Worker: new (source: string, options: { eval: boolean }) => NodeWorker };

/** @internal The module of threads, where this is Node. */
export function nodeThreads(): NodeThreads | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeThreads } };
  return process?.getBuiltinModule?.("node:worker_threads");
}
