// Every length of `lengths.json`, in Node and in a page: no length is left out, because errors of other packages were wrong in
// bands of a few bytes.

/** Compares `treewide` with the answers, in each of `modes`, and returns the number of cases. */
export function everyLength(treewide, { ranges, key, context }, modes) {
  const last = ranges.at(-1).to;
  const input = Uint8Array.from({ length: last }, (_, index) => index % 251);
  const options = { hash: {}, keyed_hash: { key: new TextEncoder().encode(key) }, derive_key: { context } };
  const ways = {
    hash: (data) => treewide.hash(data),
    // Two pieces, and so other paths.
    keyed_hash: (data) => {
      const hasher = treewide.Hasher.keyed(options.keyed_hash.key);
      const cut = (data.length * 2) / 3;
      return hasher.update(data.subarray(0, cut)).update(data.subarray(cut)).digest();
    },
    derive_key: (data) => treewide.hash(data, options.derive_key),
  };
  let cases = 0;
  for (const range of ranges) {
    for (const mode of modes) {
      const digests = new treewide.Hasher();
      for (let length = range.from; length < range.to; length++) {
        digests.update(ways[mode](input.subarray(0, length)));
        cases++;
      }
      if (digests.digestHex() !== range[mode]) {
        throw new Error(`${mode}: the digest of a length from ${range.from} to ${range.to - 1} is wrong`);
      }
    }
  }
  // The same lengths as one batch of unequal inputs.
  for (const range of ranges.slice(0, 5)) {
    const list = Array.from({ length: range.to - range.from }, (_, index) => input.subarray(0, range.from + index));
    if (treewide.hashHex(treewide.hashMany(list)) !== range.hash) throw new Error(`hashMany is wrong from ${range.from} bytes on`);
    cases += list.length;
  }
  return cases;
}
