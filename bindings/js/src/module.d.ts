/** What `build.mjs` puts into a bundle. */
declare module "treewide:module" {
  /** The module of WebAssembly: compressed by LZMA, in base64. */
  export const packed: string;
  /** The module that decompresses it, in base64. */
  export const decompressor: string;
  /** Its bytes, before they were compressed. */
  export const size: number;
}

declare module "treewide:worker" {
  /** The program of a worker of a pool. */
  export const source: string;
}
