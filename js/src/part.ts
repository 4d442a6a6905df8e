/** Reads a part of a blob, which begins at byte `offset` of another. A file that changed since it was chosen is an error. */
export async function readPart(blob: Blob, from: number, to: number, offset: number = 0): Promise<Uint8Array<ArrayBuffer>> {
  const name = (blob as File).name ? `\`${(blob as File).name}'` : "the blob";
  let buffer;
  try {
    buffer = await blob.slice(from, to).arrayBuffer();
  } catch (cause) {
    throw new Error(`${name} cannot be read at byte ${offset + from}: if it was changed, choose it again`, { cause });
  }
  if (buffer.byteLength !== to - from) {
    throw new Error(`${name} ended while it was being read, at byte ${offset + from + buffer.byteLength}: choose it again`);
  }
  return new Uint8Array(buffer);
}
