// What `build.mjs` puts into a bundle.

declare module "treewide:module" {
  /** The module of WebAssembly, as `unpack.ts` reads it. */
  export const text: string;
}

declare module "treewide:worker" {
  /** The program of a worker of a pool. */
  export const text: string;
}
