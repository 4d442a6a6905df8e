import { kind } from "./input.js";
import { nodeModule } from "./node.js";

/** Bytes that are read at once. They are in memory twice: some are read while others are hashed. */
const AT_ONCE = 1 << 20;

/** @internal A file that is open, and its size. */
export interface OpenFile {
  size: number;
  /** Reads it to its end. A piece is overwritten by the next but one. */
  pieces(): AsyncGenerator<Uint8Array>;
  close(): Promise<void>;
}

/** @internal Opens a file of Node. */
export async function openFile(path: string | URL): Promise<OpenFile> {
  if (typeof path !== "string" && Object.prototype.toString.call(path) !== "[object URL]") {
    throw new TypeError(`path must be a string or a URL of a file, not ${kind(path)}`);
  }
  const node = nodeModule("node:fs/promises");
  if (!node) throw new Error("there are paths in Node only: in a browser, hash the File of an <input> by hashBlob");
  const file = await node.open(path);
  try {
    const before = await file.stat({ bigint: true });
    if (before.isDirectory()) throw new Error(`\`${path}' is a directory: hash its files one by one, or use \`treewide sum -r\``);
    return { size: Number(before.size), pieces, close: () => file.close() };

    async function* pieces(): AsyncGenerator<Uint8Array> {
      let [now, then] = [new Uint8Array(AT_ONCE), new Uint8Array(AT_ONCE)];
      const read = (into: Uint8Array) => {
        const result = file.read(into, 0, into.length, null);
        // It may be awaited only after the caller stopped.
        result.catch(() => {});
        return result;
      };
      let done = 0;
      for (let next = read(now); ; ) {
        const { bytesRead } = await next;
        if (bytesRead === 0) break;
        done += bytesRead;
        next = read(then);
        yield now.subarray(0, bytesRead);
        [now, then] = [then, now];
      }
      if (!before.isFile()) return;
      const after = await file.stat({ bigint: true });
      // Files of /proc have no size.
      const isSame = (["size", "mtimeNs", "ctimeNs"] as const).every((name) => after[name] === before[name]);
      if (!isSame || (done !== Number(after.size) && after.size > 0n)) throw new Error(`\`${path}' changed while it was being read: hash it again when nothing writes to it`);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
}
