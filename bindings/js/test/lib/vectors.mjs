// The known answers of the repository.
import { readFileSync } from "node:fs";

const folder = new URL("../../../../vectors/", import.meta.url);

/** A file of answers. */
export const vectors = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));

/** The input of all answers: byte `i` is `i % 251`. */
export const pattern = (length) => Uint8Array.from({ length }, (_, index) => index % 251);

/** The options of a mode, by its name in the files. */
export const modeOf = (name, { key, context }) =>
  ({ hash: {}, keyed_hash: { key: new TextEncoder().encode(key) }, derive_key: { context } })[name];

export const hex = (bytes) => Buffer.from(bytes).toString("hex");
