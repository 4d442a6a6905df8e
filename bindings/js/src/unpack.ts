import { decompressor, packed, size } from "treewide:module";

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/**
 * @internal The module of WebAssembly. It is compressed by LZMA: base64 of that has a fifth less than base64 of what deflate compresses, also
 * after a server compresses it again. Engines have nothing for LZMA, so a module of 2 KB does it, `bindings/js/wasm-lzma`: the
 * same in JavaScript took 40 ms of the start, because engines interpret it first.
 */
export function unpack(): Uint8Array<ArrayBuffer> {
  // Every browser compiles so small a module on its main thread.
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fromBase64(decompressor)));
  const { memory, input, decompress } = exports as {
    memory: WebAssembly.Memory;
    input: () => number;
    decompress: (size: number) => number;
  } & WebAssembly.Exports;
  const bytes = new Uint8Array(memory.buffer as ArrayBuffer);
  bytes.set(fromBase64(packed), input());
  const from = decompress(size);
  return bytes.slice(from, from + size);
}
