// What is measured, in Node and in a page alike, on one thread.

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

/**
 * Lines of samples (`dev/bench/README.md#samples-of-other-programs`) of a row: all engines take turns, and a sample is as many calls
 * as the fastest makes in about `each` milliseconds. `bars` are the least ratios to the first engine.
 */
async function row(name, bytes, engines, { rounds, each }, bars = () => undefined) {
  const all = Object.entries(engines).map(([engine, call]) => ({ engine, call, samples: [], bar: bars(engine) }));
  let calls = 1;
  for (const { call } of all) {
    // Compilers of engines want some calls before they are done.
    const end = performance.now() + 10 * each;
    let count = 0;
    for (; performance.now() < end; count++) await call();
    calls = Math.max(calls, Math.floor(count / 10));
  }
  for (let round = 0; round < rounds; round++) {
    const from = round % all.length;
    for (const { call, samples } of [...all.slice(from), ...all.slice(0, from)]) {
      const started = performance.now();
      for (let done = 0; done < calls; done++) {
        const promise = call();
        // An await of anything else takes time.
        if (promise instanceof Promise) await promise;
      }
      samples.push(Math.max(1, Math.round((performance.now() - started) * 1e6)));
    }
  }
  return all.map(({ engine, samples, bar }) => ({ name, engine, bytes, calls, samples, bar }));
}

const label = (bytes) => (bytes >= 1 << 20 ? `${bytes >> 20} MiB` : bytes >= 1024 ? `${bytes >> 10} KiB` : `${bytes} B`);

/** The bars of issue 39. */
const barAt = (length) => (engine) => {
  if (engine.startsWith("blake3-wasm") && (length <= 64 || length >= 4096)) return 2;
  return length >= 4096 ? 1.3 : length >= 1024 ? 1.1 : undefined;
};

async function lengths(all, options) {
  const rows = [];
  // V8 compiles a function again when it knows which of its branches run: after inputs of 32 bytes alone, those of 4 and 64 KiB
  // took up to 1.7 times as long for seconds, in Chromium. So all have seen all lengths before.
  const mix = LENGTHS.filter((length) => length <= 1 << 20).reverse().map(bytes);
  for (const hash of Object.values(all)) {
    for (const end = performance.now() + 40 * options.each; performance.now() < end; ) for (const data of mix) hash(data);
  }
  for (const length of LENGTHS) {
    const data = bytes(length);
    const some = Object.entries(all).filter(([name]) => !(name.startsWith("@noble") && length > 64 << 10));
    const calls = Object.fromEntries(some.map(([name, hash]) => [name, () => hash(data)]));
    const bar = barAt(length);
    rows.push(...(await row(`hash ${label(length)}`, length, calls, options, (engine) => (engine === "treewide" ? undefined : bar(engine)))));
  }
  return rows;
}

async function many(treewide, all, options) {
  const list = Array.from({ length: 20_000 }, (_, index) => bytes(200).fill(index & 255, 0, 2));
  const loops = Object.entries(all)
    .filter(([name]) => !name.startsWith("@noble"))
    .map(([name, hash]) => [`loop of ${name}`, () => { for (const data of list) hash(data); }]);
  const out = new Uint8Array(32 * list.length);
  const ours = { hashMany: () => treewide.hashMany(list), "hashMany, to the same array each time": () => treewide.hashMany(list, { out }) };
  const isPeer = (engine) => engine.startsWith("loop of ") && engine !== "loop of treewide";
  return row("20,000 x 200 B", 200 * list.length, { ...ours, ...Object.fromEntries(loops) }, options, (engine) => (isPeer(engine) ? 3 : undefined));
}

async function pools({ hashBlob, Pool }, size, options) {
  const blob = new Blob([bytes(size)]);
  const [one, two] = [new Pool(1), new Pool(2)];
  const all = { "Pool(2)": () => two.hashBlob(blob), "Pool(1)": () => one.hashBlob(blob), hashBlob: () => hashBlob(blob) };
  const rows = await row(`blob of ${label(size)}`, size, all, options, (engine) => (engine === "hashBlob" ? 1.7 : undefined));
  one.close();
  two.close();
  return rows;
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
  async pools(load, options, makeWorker) {
    const both = (await threads(makeWorker)).toFixed(2);
    return [
      { about: `Two threads that hash at the same time do ${both} times as much as one: no pool of two can do more here.` },
      ...(await pools((await load()).treewide, 64 << 20, options)),
    ];
  },
};

/** A digest of any engine as bytes. */
function toBytes(digest) {
  return new Uint8Array(digest.buf ?? digest);
}
