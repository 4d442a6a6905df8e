/** @internal A worker of Node, which is like one of browsers. */
export interface NodeWorker extends Worker {
  ref(): void;
  unref(): void;
  on(type: string, listener: (value: never) => void): void;
}

interface NodeModules {
  "node:worker_threads": { Worker: new (source: string, options: { eval: boolean }) => NodeWorker };
  "node:fs/promises": Pick<typeof import("node:fs/promises"), "open">;
}

/** @internal A module of Node, where this is Node. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: Name): NodeModules[Name] } };
  return process?.getBuiltinModule?.(name);
}

/** @internal Whether this is Node. */
export const isNode = (): boolean => nodeModule("node:worker_threads") !== undefined;
