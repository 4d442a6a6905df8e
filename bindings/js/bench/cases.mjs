// What is measured, in Node and in a page alike: one thread, the best of several rounds in which all take turns.

/** Everyone that hashes, as functions of bytes. */
async function engines(load) {
  const { treewide, blake3Wasm, hashWasm, jit, huggingFace, noble, webbuf } = await load();
  await treewide.ready();
  const hasher = await hashWasm.createBLAKE3();
  const { WebBuf } = webbuf.buffers;
  return {
    treewide: (data) => treewide.hash(data),
    "blake3-wasm 2.1.5": (data) => blake3Wasm.hash(data),
    "hash-wasm 4.13.0": (data) => (hasher.init(), hasher.update(data), hasher.digest("binary")),
    "blake3-jit 1.1.0": (data) => jit.hash(data),
    "@huggingface/blake3-jit 0.0.2": (data) => huggingFace.hash(data),
    "@noble/hashes 2.4.0": (data) => noble.blake3(data),
    // Its type is a view, which takes no copy.
    "@webbuf/blake3 3.8.0": (data) => webbuf.blake3Hash(WebBuf.fromUint8Array(data)),
  };
}

const LENGTHS = [32, 64, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 16 << 20];

/** Pseudorandom bytes, the same in each run. */
function bytes(length) {
  const out = new Uint8Array(length);
  let state = 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[at] = state >>> 24;
  }
  return out;
}

function time(call, times) {
  const started = performance.now();
  for (let time = 0; time < times; time++) call();
  return (performance.now() - started) / times;
}

/** The least milliseconds of a call of each function of `all`, which take turns in `rounds` rounds of about `each` milliseconds. */
function best(all, rounds, each) {
  const names = Object.keys(all);
  const times = {}, least = {};
  for (const name of names) {
    // Compilers of engines want some calls before they are done.
    const end = performance.now() + each;
    let count = 0;
    while (performance.now() < end) all[name](), count++;
    times[name] = Math.max(1, count);
    least[name] = Infinity;
  }
  for (let round = 0; round < rounds; round++) {
    const from = round % names.length;
    for (const name of [...names.slice(from), ...names.slice(0, from)]) {
      least[name] = Math.min(least[name], time(all[name], Math.max(1, times[name] >> 1)));
    }
  }
  return least;
}

/** Nanoseconds of a call by length and engine. */
async function lengths(all, { rounds, each }) {
  const rows = {};
  // V8 compiles a function again when it knows which of its branches run: after inputs of 32 bytes alone, those of 4 and 64 KiB
  // took up to 1.7 times as long for seconds, in Chromium. So all have seen all lengths before.
  const mix = LENGTHS.filter((length) => length <= 1 << 20).reverse().map(bytes);
  for (const hash of Object.values(all)) {
    for (const end = performance.now() + 5 * each; performance.now() < end; ) for (const data of mix) hash(data);
  }
  for (const length of LENGTHS) {
    const data = bytes(length);
    const some = Object.entries(all).filter(([name]) => !(name.startsWith("@noble") && length > 1 << 20));
    const least = best(Object.fromEntries(some.map(([name, hash]) => [name, () => hash(data)])), rounds, each);
    rows[length] = Object.fromEntries(Object.entries(least).map(([name, ms]) => [name, ms * 1e6]));
  }
  return rows;
}

/** Milliseconds for 20,000 inputs of 200 bytes. */
function many(treewide, all, { rounds, each }) {
  const list = Array.from({ length: 20_000 }, (_, index) => bytes(200).fill(index & 255, 0, 2));
  const loops = Object.entries(all)
    .filter(([name]) => !name.startsWith("@noble"))
    .map(([name, hash]) => [`loop of ${name}`, () => { for (const data of list) hash(data); }]);
  const out = new Uint8Array(32 * list.length);
  const ours = { hashMany: () => treewide.hashMany(list), "hashMany, to the same array each time": () => treewide.hashMany(list, { out }) };
  return best({ ...ours, ...Object.fromEntries(loops) }, rounds, each);
}

/** Milliseconds for a blob of 64 MiB, alone and by pools of 1 and 2. */
async function pools({ hashBlob, Pool }, blob, rounds) {
  const [one, two] = [new Pool(1), new Pool(2)];
  const all = { hashBlob: () => hashBlob(blob), "Pool(1)": () => one.hashBlob(blob), "Pool(2)": () => two.hashBlob(blob) };
  const least = {};
  for (let round = 0; round <= rounds; round++) {
    for (const [name, call] of Object.entries(all)) {
      const started = performance.now();
      await call();
      const ms = performance.now() - started;
      // The first round starts the workers.
      if (round > 0) least[name] = Math.min(least[name] ?? Infinity, ms);
    }
  }
  one.close();
  two.close();
  return least;
}

/** How many times as much two threads hash together as one alone: what the machine allows a pool of two. */
async function threads(makeWorker) {
  const rate = async (count) => {
    const all = await Promise.all(Array.from({ length: count }, () => makeWorker(700)));
    return all.reduce((sum, calls) => sum + calls, 0);
  };
  const [one, two] = [await rate(1), await rate(2)];
  return two / one;
}

/** The parts of a run. Each is measured in a process or page of its own, because what ran before changes what compilers do. */
export const PARTS = {
  async lengths(load, options) {
    const all = await engines(load);
    const digests = new Set(Object.values(all).map((hash) => Array.from(toBytes(hash(bytes(5000)))).join()));
    if (digests.size !== 1) throw new Error("the engines differ");
    return lengths(all, options);
  },
  async many(load, options) {
    return many((await load()).treewide, await engines(load), options);
  },
  async pools(load, { rounds }, makeWorker) {
    const { treewide } = await load();
    return { ...(await pools(treewide, new Blob([bytes(64 << 20)]), rounds)), threads: await threads(makeWorker) };
  },
};

/** A digest of any engine as bytes. */
function toBytes(digest) {
  return new Uint8Array(digest.buf ?? digest);
}
