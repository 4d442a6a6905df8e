import assert from "node:assert/strict";
import { appendFileSync, createReadStream, openAsBlob } from "node:fs";
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { Hasher, Pool, VerifyError, groupsAround, hash, hashBlob, hashFile, hashHex, hashMany, hashStream, verifyRange } from "../dist/index.js";
import { hex, modeOf, pattern, vectors } from "./lib/vectors.mjs";

const [hashes, outputs] = ["hash", "xof"].map((name) => vectors(`${name}.json`));
// Those of groups of 16 KiB, and of inputs that are one group: whatever its size, that has no pairs.
const outboards = vectors("outboard.json").cases.filter(({ log2, pairs }) => log2 === 4 || pairs === "");
const input = pattern(300_000);
const MODES = ["hash", "keyed_hash", "derive_key"];

/** Calls a function, which must throw an error whose message matches. */
const fits = (type, message) => (error) => (assert.ok(error instanceof type, String(error)), assert.match(error.message, message), true);
const throws = (call, type, message) => assert.throws(call, fits(type, message));
const rejects = (promise, type, message) => assert.rejects(promise, fits(type, message));

test("hash gives the known answers", (t) => {
  let cases = 0;
  for (const answer of hashes.cases) {
    const data = input.subarray(0, answer.len);
    for (const name of MODES) {
      const mode = modeOf(name, hashes);
      const expected = answer[name];
      assert.equal(hex(hash(data, mode)), expected.slice(0, 64));
      assert.equal(hashHex(data, mode), expected.slice(0, 64));
      for (const length of [0, 1, 31, 32, 33, 64, 131]) {
        assert.equal(hashHex(data, { ...mode, length }), expected.slice(0, 2 * length));
      }
      const out = new Uint8Array(140).subarray(3, 134);
      assert.equal(hash(data, { ...mode, out }), out);
      assert.equal(hex(out), expected);
      cases++;
    }
  }
  t.diagnostic(`hash: ${cases} cases`);
});

test("Hasher gives the known answers in pieces, and after toState, fromState, copy and reset", (t) => {
  let cases = 0;
  for (const answer of hashes.cases) {
    for (const name of MODES) {
      const { key, context } = modeOf(name, hashes);
      const hasher = key ? Hasher.keyed(key) : context ? Hasher.deriveKey(context) : new Hasher();
      const cut = answer.len >> 1;
      hasher.update(input.subarray(0, cut));
      const copy = hasher.copy();
      const loaded = Hasher.fromState(hasher.toState());
      assert.equal(hasher.count, cut);
      for (const it of [hasher, copy, loaded]) {
        it.update(input.subarray(cut, answer.len));
        assert.equal(it.digestHex(), answer[name].slice(0, 64));
        assert.equal(hex(it.digest({ length: 131 })), answer[name]);
        it.reset().update(input.subarray(0, answer.len));
        assert.equal(hex(it.digest()), answer[name].slice(0, 64));
        assert.equal(it.count, answer.len);
      }
      cases++;
    }
  }
  t.diagnostic(`Hasher: ${cases} cases`);
});

test("Hasher gathers short pieces, between all its other methods", (t) => {
  let [cases, seed] = [0, 1];
  const below = (limit) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % limit;
  for (let round = 0; round < 100; round++) {
    let [hasher, at] = [new Hasher(), 0];
    const others = Array.from({ length: 10 }, () => new Hasher());
    const usual = 1 + below(3000);
    for (let step = 0; step < 100 && at + 20_000 < input.length; step++) {
      const length = below(5) > 0 ? usual : below(20_000);
      hasher.update(input.subarray(at, (at += length)));
      const all = input.subarray(0, at);
      // Moves the hasher out of the memory.
      if (below(20) === 0) for (const other of others) other.update(input.subarray(0, 5));
      switch (below(60)) {
        case 0:
          assert.equal(hasher.digestHex(), hashHex(all));
          break;
        case 1:
          hasher = hasher.copy();
          break;
        case 2:
          hasher = Hasher.fromState(hasher.toState());
          break;
        case 3:
          assert.equal(hex(hasher.xof().read(100)), hashHex(all, { length: 100 }));
          break;
        case 4:
          assert.equal(hasher.count, at);
          break;
        case 5:
          hasher.reset();
          at = 0;
          assert.equal(hasher.count, 0);
      }
    }
    assert.equal(hasher.copy().digestHex(), hashHex(input.subarray(0, at)));
    assert.equal(hasher.digestHex(), hashHex(input.subarray(0, at)));
    cases++;
  }
  t.diagnostic(`gathered: ${cases} cases`);
});

test("Xof reads from any place", (t) => {
  for (const { len, mode, seek, output } of outputs.cases) {
    const { key, context } = modeOf(mode, outputs);
    const hasher = key ? Hasher.keyed(key) : context ? Hasher.deriveKey(context) : new Hasher();
    const xof = hasher.update(input.subarray(0, len)).xof();
    hasher.update("more input does not change it");
    xof.seek(BigInt(seek));
    assert.equal(hex(xof.read(Math.min(10, output.length / 2))), output.slice(0, 20));
    xof.seek(BigInt(seek));
    const out = new Uint8Array(output.length / 2);
    xof.fill(out);
    assert.equal(hex(out), output);
    assert.equal(xof.position, BigInt(seek) + BigInt(out.length));
  }
  t.diagnostic(`Xof: ${outputs.cases.length} cases`);
  const xof = new Hasher().xof();
  assert.equal(hex(xof.read(100_000)), hashHex("", { length: 100_000 }));
  xof.seek(2n ** 64n - 3n);
  assert.equal(xof.read(2).length, 2);
  throws(() => xof.read(1), RangeError, /^the output ends at byte 2\^64 - 1: 1 bytes from position 18446744073709551615/);
  throws(() => xof.seek(2n ** 64n), RangeError, /^position must be/);
  throws(() => xof.seek(0.5), RangeError, /not the number 0\.5/);
  throws(() => xof.seek(-1), RangeError, /not the number -1/);
});

test("any number of hashers live at the same time", () => {
  const all = Array.from({ length: 50 }, (_, index) => (index % 3 ? new Hasher() : Hasher.keyed(pattern(32))));
  for (let piece = 0; piece < 40; piece++) {
    all.forEach((hasher, index) => hasher.update(input.subarray(0, index * piece)));
  }
  all.forEach((hasher, index) => {
    const whole = Buffer.concat(Array.from({ length: 40 }, (_, piece) => input.subarray(0, index * piece)));
    assert.equal(hasher.digestHex(), hashHex(whole, index % 3 ? {} : { key: pattern(32) }));
  });
});

test("hash takes text, views at any place, and buffers", () => {
  const bytes = input.subarray(0, 5000);
  const expected = hashHex(bytes);
  for (let offset = 0; offset < 17; offset++) {
    const buffer = new ArrayBuffer(5100);
    const view = new Uint8Array(buffer, offset, 5000);
    view.set(bytes);
    assert.equal(hashHex(view), expected);
    assert.equal(hashHex(new DataView(buffer, offset, 5000)), expected);
    assert.equal(hashHex(Buffer.from(buffer, offset, 5000)), expected);
  }
  assert.equal(hashHex(bytes.slice().buffer), expected);
  assert.equal(hashHex(new Uint32Array(bytes.slice().buffer)), expected);
  const shared = new Uint8Array(new SharedArrayBuffer(5000));
  shared.set(bytes);
  assert.equal(hashHex(shared), expected);
  assert.equal(hashHex(shared.buffer), expected);
  assert.equal(hashHex(new Uint8Array(0)), hashHex(""));
});

test("text is UTF-8, also where the window of the memory ends", () => {
  const encoder = new TextEncoder();
  for (const unit of ["a", "é", "€", "😀", "\ud800", "a😀"]) {
    for (const length of [0, 1, 5, 43_690, 43_691, 65_535, 65_536, 131_071, 131_072, 131_073, 400_001]) {
      const text = unit.repeat(length);
      const expected = hashHex(encoder.encode(text));
      assert.equal(hashHex(text), expected);
      assert.equal(new Hasher().update("").update(text).digestHex(), expected);
      if (length <= 65_536) assert.equal(hex(hashMany([text, text])), expected + expected);
    }
  }
  // Each text by itself.
  const [high, low] = "😀".split("");
  assert.equal(new Hasher().update(high).update(low).digestHex(), hashHex("\ufffd\ufffd"));
});

test("long inputs are those of the pieces", () => {
  for (const length of [131_071, 131_072, 131_073, 262_144, 300_000]) {
    const bytes = input.subarray(0, length);
    const hasher = new Hasher();
    for (let at = 0; at < length; at += 7777) hasher.update(bytes.subarray(at, at + 7777));
    assert.equal(hashHex(bytes), hasher.digestHex());
    assert.equal(hashHex(bytes, { length: 70_000 }), hex(hasher.digest({ length: 70_000 })));
    assert.equal(hashHex(bytes, { key: pattern(32) }), Hasher.keyed(pattern(32)).update(bytes).digestHex());
  }
});

test("hashMany gives the digests of all inputs", (t) => {
  const lists = [
    [],
    [input.subarray(0, 0)],
    Array.from({ length: 3000 }, (_, index) => input.subarray(index, index + 200)),
    Array.from({ length: 2500 }, (_, index) => input.subarray(index, index + ((index * 7919) % 3000))),
    [input, input.subarray(0, 131_072), "text", input.subarray(0, 131_073), input.buffer, "x".repeat(50_000), "€".repeat(60_000), ""],
    Array.from({ length: 1025 }, () => ""),
  ];
  let cases = 0;
  for (const list of lists) {
    for (const mode of MODES.map((name) => modeOf(name, hashes))) {
      for (const length of [undefined, 32, 16, 0, 100]) {
        const digests = hashMany(list, { ...mode, length });
        const expected = list.map((data) => hashHex(data, { ...mode, length })).join("");
        assert.equal(hex(digests), expected);
        cases += list.length;
      }
    }
  }
  const offsets = Uint32Array.from({ length: 2001 }, (_, index) => Math.min(5 + index * 130 + (index % 7), 270_000));
  const parts = Array.from({ length: 2000 }, (_, index) => input.subarray(offsets[index], offsets[index + 1]));
  for (const length of [32, 8, 40]) {
    const out = new Uint8Array(2000 * length);
    assert.equal(hashMany({ data: input, offsets }, { length, out }), out);
    assert.deepEqual(out, hashMany(parts, { length }));
  }
  assert.deepEqual(hashMany({ data: input, offsets: [0, 300_000, 300_000] }), hashMany([input, ""]));
  assert.deepEqual(hashMany({ data: input, offsets: [] }), new Uint8Array(0));
  t.diagnostic(`hashMany: ${cases} cases`);
});

test("errors name the argument and what it was", () => {
  const gone = new Uint8Array(10);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  throws(() => hash(5), TypeError, /^data must be a string, a typed array, a DataView or an ArrayBuffer, not the number 5$/);
  throws(() => hash(null), TypeError, /not null$/);
  throws(() => hash([1]), TypeError, /not an object of type Array$/);
  throws(() => hash(gone), TypeError, /^data belongs to an ArrayBuffer that was transferred/);
  throws(() => hash(gone.buffer), TypeError, /^data belongs to an ArrayBuffer that was transferred/);
  throws(() => new Hasher().update(gone), TypeError, /^data belongs/);
  throws(() => hash("", { key: new Uint8Array(31) }), RangeError, /^key must have 32 bytes, not 31$/);
  throws(() => hash("", { key: "k" }), TypeError, /^key must be a Uint8Array of 32 bytes, not a string$/);
  throws(() => hash("", { key: new Uint8Array(32), context: "c" }), TypeError, /^key and context exclude each other/);
  throws(() => hash("", { context: 7 }), TypeError, /^context must be a string, not the number 7$/);
  throws(() => hash("", { context: "c".repeat(131_073) }), RangeError, /^context must have at most 131072 bytes$/);
  throws(() => hash("", { length: -1 }), RangeError, /^length must be a whole number from 0/);
  throws(() => hash("", { length: "8" }), RangeError, /not a string$/);
  throws(() => hash("", { out: [] }), TypeError, /^out must be a Uint8Array, not an object of type Array$/);
  throws(() => hash("", { out: new Uint8Array(5), length: 6 }), RangeError, /^out has 5 bytes, but length is 6$/);
  throws(() => Hasher.keyed(undefined), TypeError, /^key must be a Uint8Array of 32 bytes, not undefined$/);
  throws(() => Hasher.deriveKey(new Uint8Array(3)), TypeError, /^context must be a string, not an object of type Uint8Array$/);
  throws(() => hashMany("text"), TypeError, /^list must be an array of inputs, or an object with data and offsets, not a string$/);
  throws(() => hashMany(["a", 5]), TypeError, /^list\[1\] must be a string/);
  throws(() => hashMany(["a", 5], { length: 50 }), TypeError, /^list\[1\] must be a string/);
  throws(() => hashMany(["a"], { out: new Uint8Array(31) }), RangeError, /^out must have 32 bytes, 32 for each of 1 inputs, not 31$/);
  throws(() => hashMany({ data: input, offsets: [0, 5, 4] }), RangeError, /^list.offsets\[2\] must be a whole number from 5,/);
  throws(() => hashMany({ data: input, offsets: [0, 300_001] }), RangeError, /^list.offsets\[1\] .* to 300000,/);
  throws(() => hashMany({ data: "text", offsets: [0, 1] }), TypeError, /^list.data must be/);
  // After errors everything is as before.
  assert.equal(hashHex("abc"), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
});

test("Hasher.fromState refuses what is not a state", () => {
  const state = Hasher.keyed(pattern(32)).update(input).toState();
  for (let at = 0; at < state.length; at += 3) {
    const changed = state.slice();
    changed[at] ^= 1;
    throws(() => Hasher.fromState(changed), RangeError, /^state (is|has)/);
  }
  throws(() => Hasher.fromState(state.subarray(1)), RangeError, /^state is not a saved state of a hasher \(\d+ bytes\)$/);
  throws(() => Hasher.fromState(state.subarray(0, 200)), RangeError, /^state has a wrong length/);
  throws(() => Hasher.fromState(new Uint8Array(500_000)), RangeError, /^state is not/);
  throws(() => Hasher.fromState("state"), TypeError, /^state must be a typed array, a DataView or an ArrayBuffer, not a string$/);
});

test("keys are copied, also buffers of Node", { timeout: 60_000 }, async () => {
  const secret = () => Buffer.alloc(32, 7);
  const expected = hashHex("x", { key: secret() });
  const key = secret();
  const hasher = Hasher.keyed(key);
  const state = Buffer.from(Hasher.keyed(key).update("y").toState());
  const loaded = Hasher.fromState(state);
  key.fill(0);
  state.fill(0);
  assert.equal(hasher.update("x").digestHex(), expected);
  assert.equal(loaded.reset().update("x").digestHex(), expected);
  const pool = new Pool(1);
  const bytes = pattern(5 << 20);
  const late = secret();
  const digest = pool.hashBlob(new Blob([bytes]), { key: late });
  late.fill(0);
  assert.equal(hex(await digest), hashHex(bytes, { key: secret() }));
  pool.close();
});

test("hashMany asks for all inputs before it uses the memory", () => {
  const inputs = ["ash", "beech", "cedar"];
  const lazy = Object.defineProperties({ length: 3 }, Object.fromEntries(inputs.map((text, index) => [index, {
    get: () => (hashHex("something else", { key: pattern(32) }), text),
  }])));
  assert.equal(hex(hashMany(lazy)), hex(hashMany(inputs)));
  for (const list of [new Set(["a"]), new Map(), {}]) throws(() => hashMany(list), TypeError, /^list must be an array of inputs/);
});

test("options are plain objects with known names, everywhere", async () => {
  const pool = new Pool(1);
  const calls = [
    (options) => hash("a", options),
    (options) => hashHex("a", options),
    (options) => hashMany(["a"], options),
    (options) => new Hasher().digest(options),
    (options) => new Hasher().digestHex(options),
    (options) => hashStream(["a"], options),
    (options) => hashBlob(new Blob(["a"]), options),
    (options) => hashFile("package.json", options),
    (options) => pool.hashBlob(new Blob(["a"]), options),
    (options) => pool.hashFile("package.json", options),
    (options) => new Pool(1, options),
  ];
  for (const call of calls) {
    for (const options of ["hex", 16, null, [], new Uint8Array(32), new Map(), new String("hex"), () => {}, true]) {
      await rejects((async () => call(options))(), TypeError, /^options must be an object with some of /);
    }
    await rejects((async () => call({ size: 3 }))(), TypeError, /^options has no size; it has /);
    await rejects((async () => call({ encoding: undefined }))(), TypeError, /^options has no encoding; it has /);
    await call(runInNewContext("({})"));
    await call(Object.create(null));
    await call(undefined);
  }
  throws(() => hashHex("a", { out: new Uint8Array(32) }), TypeError, /^options has no out; it has key, context, length$/);
  throws(() => verifyRange(null, 0, input), TypeError, /^whole must be an object with some of expected, size, outboard, key, context, not null$/);
  throws(() => verifyRange({ digest: "00" }, 0, input), TypeError, /^whole has no digest; it has /);
  pool.close();
});

test("arrays of another realm are as good as those of this one", async () => {
  const foreign = (code) => runInNewContext(code);
  const [data, key, out] = ["new Uint8Array(70).fill(1)", "new Uint8Array(32)", "new Uint8Array(40)"].map(foreign);
  const own = [new Uint8Array(70).fill(1), new Uint8Array(32)];
  assert.equal(hash(data, { key, out }), out);
  assert.equal(hex(out), hashHex(own[0], { key: own[1], length: 40 }));
  assert.equal(hashHex(foreign("new Uint8Array(70).fill(1).buffer")), hashHex(own[0]));
  assert.equal(hashHex(foreign("new DataView(new Uint8Array(70).fill(1).buffer)")), hashHex(own[0]));
  assert.equal(hex(hashMany(foreign("[new Uint8Array(70).fill(1)]"), { out: foreign("new Uint8Array(32)") })), hashHex(own[0]));
  assert.equal(Hasher.fromState(foreign(`Uint8Array.from([${Hasher.keyed(key).update(data).toState()}])`)).digestHex(), hashHex(own[0], { key: own[1] }));
  assert.equal(new Hasher().xof().fill(out), out);
  assert.equal(hex(await hashStream(foreign("[new Uint8Array(70).fill(1)]"), { out: foreign("new Uint8Array(32)") })), hashHex(own[0]));
  const compatible = await import("../dist/blake3-wasm.node.js");
  assert.equal(compatible.hash(data).toString("hex"), hashHex(own[0]));
  assert.throws(() => compatible.hash(foreign("new DataView(new ArrayBuffer(3))")), /not a DataView$/);
});

test("code of the caller that hashes changes nothing", async () => {
  const meddle = () => hashMany(["something else", "x".repeat(1000)], { key: pattern(32) });
  const meddling = (object) => Object.defineProperties({}, Object.fromEntries(Object.entries(object).map(([name, value]) => [name, { enumerable: true, get: () => (meddle(), value) }])));
  const proxied = (object) => new Proxy(object, { get: (target, name) => (meddle(), Reflect.get(target, name)) });
  class Odd extends Uint8Array {
    static get [Symbol.species]() { meddle(); return Uint8Array; }
    get length() { meddle(); return 3; }
    get byteLength() { meddle(); return 3; }
    get buffer() { meddle(); return new ArrayBuffer(3); }
    subarray(...args) { meddle(); return super.subarray(...args); }
  }
  const all = { key: pattern(32), length: 40 };
  for (const options of [meddling(all), proxied(all), meddling({ context: "c", length: 40 })]) {
    const plain = { ...options };
    assert.equal(hex(hash(input.subarray(0, 500), options)), hashHex(input.subarray(0, 500), plain));
    assert.equal(hex(hashMany(["a", "b"], options)), hex(hashMany(["a", "b"], plain)));
    assert.equal(hex(await hashStream(["a"], options)), hashHex("a", plain));
    assert.equal(hex(await hashBlob(new Blob(["a"]), options)), hashHex("a", plain));
  }
  for (const length of [0, 5, 32, 5000, 300_000]) {
    const odd = new Odd(input.slice(0, length).buffer);
    const expected = hashHex(input.subarray(0, length));
    assert.equal(hashHex(odd), expected);
    assert.equal(hex(hash(odd)), expected);
    assert.equal(new Hasher().update(odd).digestHex(), expected);
    assert.equal(hex(hashMany([odd, odd])), expected + expected);
    const out = new Odd(50);
    hash(odd, { out });
    assert.equal(Buffer.from(Uint8Array.prototype.slice.call(out)).length, 50);
    assert.equal(Array.from({ length: 50 }, (_, at) => out[at].toString(16).padStart(2, "0")).join(""), hashHex(odd, { length: 50 }));
  }
  const list = ["ash", "beech", "cedar"];
  assert.equal(hex(hashMany(proxied(list))), hex(hashMany(list)));
  assert.equal(hex(hashMany({ data: input, offsets: proxied([0, 5, 10]) })), hex(hashMany({ data: input, offsets: [0, 5, 10] })));
  throws(() => hash(new Proxy(new Uint8Array(5), {})), TypeError, /^data must be/);
});

test("a Hasher has no options, and update no encoding", () => {
  for (const options of [{ key: pattern(32) }, undefined, "blake3"]) throws(() => new Hasher(options), TypeError, /^new Hasher\(\) has no arguments, but got .*: see Hasher.keyed/);
  throws(() => new Hasher().update("616263", "hex"), TypeError, /^update has no encoding/);
  assert.equal(new Hasher().update("abc", undefined).digestHex(), hashHex("abc"));
});

test("hashMany takes an array for the output that shares memory with inputs", () => {
  const data = input.slice(0, 200_000);
  const list = Array.from({ length: 2000 }, (_, index) => data.subarray(100 * index, 100 * index + 100));
  const offsets = Array.from({ length: 2001 }, (_, index) => 100 * index);
  for (const how of [list, [...list.slice(0, -1), data.buffer], { data, offsets }]) {
    for (const length of [32, 16, 64]) {
      data.set(input.subarray(0, 200_000));
      const expected = hex(hashMany(how, { length }));
      const out = data.subarray(0, 2000 * length);
      assert.equal(hex(hashMany(how, { length, out })), expected);
    }
  }
});

test("offsets may be of any numbers that are whole", () => {
  const expected = hex(hashMany([input.subarray(0, 5), input.subarray(5, 10)]));
  for (const offsets of [[0, 5, 10], [0n, 5n, 10n], BigInt64Array.of(0n, 5n, 10n), Float64Array.of(0, 5, 10), Uint8Array.of(0, 5, 10)]) {
    assert.equal(hex(hashMany({ data: input, offsets })), expected);
  }
  throws(() => hashMany({ data: input, offsets: [0, 5.5] }), RangeError, /not the number 5\.5$/);
  throws(() => hashMany({ data: input, offsets: 5 }), TypeError, /^list\.offsets must be an array of numbers, not the number 5$/);
});

test("a stream that is not read is ended", { timeout: 60_000 }, async () => {
  const error = new Error("stopped");
  const wrong = [{ signal: AbortSignal.abort(error) }, { key: new Uint8Array(5) }, { size: 3 }, "hex"];
  for (const options of wrong) {
    // Its own error would end this process.
    const file = createReadStream("nope");
    await assert.rejects(hashStream(file, options));
    assert.equal(file.destroyed, true);
    const ended = [];
    await assert.rejects(hashStream(new ReadableStream({ cancel: (reason) => void ended.push(reason) }), options));
    assert.equal(ended.length, 1);
  }
  const generator = (function* () { yield "a"; })();
  await assert.rejects(hashStream(generator, { size: 3 }));
  assert.equal(generator.next().done, true);
  const waiting = new Readable({ read() {} });
  waiting.push("a");
  await assert.rejects(hashStream(waiting, { onProgress: () => { throw error; } }), error);
  assert.equal(waiting.destroyed, true);
  await rejects(hashStream(createReadStream("nope")), Error, /^ENOENT/);
});

test("a file whose blob says too small a size is hashed whole, or an error", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "treewide-"));
  const pool = new Pool(2);
  try {
    const path = join(folder, "large");
    for (const more of [0, 100, 3 << 20]) {
      await writeFile(path, "");
      // Sparse: zeros that take no place.
      await truncate(path, 2 ** 32 + more);
      const blob = await openAsBlob(path);
      // Until Node knows better.
      if (blob.size > 2 ** 32) continue;
      for (const how of [hashBlob, (...args) => pool.hashBlob(...args)]) {
        await rejects(how(blob), Error, new RegExp(`^the blob has more than ${more} bytes, which is its size: .* hashFile$`));
      }
    }
  } finally {
    pool.close();
    await rm(folder, { recursive: true });
  }
});

test("hashStream stops while it waits", { timeout: 60_000 }, async () => {
  const error = new Error("stopped");
  const waiting = () => ({ stop: new AbortController(), ended: [] });
  const web = waiting();
  const stream = new ReadableStream({ pull: () => new Promise(() => {}), cancel: (reason) => void web.ended.push(reason) });
  const node = waiting();
  const readable = new Readable({ read() {}, destroy: (reason, done) => (node.ended.push(reason), done(reason)) });
  for (const [it, { stop, ended }] of [[stream, web], [readable, node]]) {
    setTimeout(() => stop.abort(error), 20);
    await assert.rejects(hashStream(it, { signal: stop.signal }), error);
    assert.deepEqual(ended, [error]);
  }
});

test("hashStream reads streams of all kinds to their end", async () => {
  const pieces = () => [input.subarray(0, 1), "text", input.subarray(1, 200_000), new Uint8Array(0).buffer];
  const expected = new Hasher().update(input.subarray(0, 1)).update("text").update(input.subarray(1, 200_000)).digestHex();
  const seen = [];
  const onProgress = (done, total) => seen.push([done, total]);
  assert.equal(hex(await hashStream(new ReadableStream({
    start(controller) {
      pieces().forEach((piece) => controller.enqueue(piece));
      controller.close();
    },
  }), { onProgress })), expected);
  assert.deepEqual(seen, [[1, undefined], [5, undefined], [200_004, undefined], [200_004, undefined]]);
  assert.equal(hex(await hashStream(Readable.from(pieces().slice(0, 3)))), expected);
  assert.equal(hex(await hashStream(pieces())), expected);
  assert.equal(hex(await hashStream(new Response(input).body, { key: pattern(32), length: 50 })), hashHex(input, { key: pattern(32), length: 50 }));
  let closed = false;
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(input), cancel: () => (closed = true) });
  const stop = new AbortController();
  const error = new Error("stopped");
  await assert.rejects(hashStream(endless, { signal: stop.signal, onProgress: () => stop.abort(error) }), error);
  assert.equal(closed, true);
  await rejects(hashStream(5), TypeError, /^stream must be a ReadableStream or an iterable, not the number 5$/);
  await rejects(hashStream([5]), TypeError, /^data must be a string/);
});

test("hashBlob and Pool give the same digests", { timeout: 60_000 }, async () => {
  const big = pattern(9 * 1024 * 1024 + 77);
  const pool = new Pool(2);
  for (const length of [0, 5, 2 << 20, (2 << 20) + 1, 4 << 20, (4 << 20) + 1, 6 << 20, big.length]) {
    const blob = new Blob([big.subarray(0, length)]);
    for (const mode of [{}, { key: pattern(32) }, { context: "c", length: 40_000 }]) {
      const expected = hashHex(big.subarray(0, length), mode);
      const seen = [];
      assert.equal(hex(await hashBlob(blob, { ...mode, onProgress: (...progress) => seen.push(progress) })), expected);
      assert.deepEqual(seen.at(-1) ?? [length, length], [length, length]);
      seen.length = 0;
      assert.equal(hex(await pool.hashBlob(blob, { ...mode, onProgress: (...progress) => seen.push(progress) })), expected);
      assert.deepEqual(seen.at(-1) ?? [length, length], [length, length]);
    }
  }
  const blob = new Blob([big]);
  const both = await Promise.all([pool.hashBlob(blob), pool.hashBlob(blob.slice(1))]);
  assert.deepEqual(both.map(hex), [hashHex(big), hashHex(big.subarray(1))]);
  const stop = new AbortController();
  const error = new Error("stopped");
  for (const how of [hashBlob, (...args) => pool.hashBlob(...args)]) {
    await assert.rejects(how(blob, { signal: AbortSignal.abort(error) }), error);
  }
  await assert.rejects(pool.hashBlob(blob, { signal: stop.signal, onProgress: () => stop.abort(error) }), error);
  // Also with the last piece.
  const last = new AbortController();
  await assert.rejects(hashBlob(new Blob(["abc"]), { signal: last.signal, onProgress: () => last.abort(error) }), error);
  assert.equal(hex(await pool.hashBlob(blob)), hashHex(big));
  const late = pool.hashBlob(blob);
  pool.close();
  await rejects(late, Error, /^the pool is closed$/);
  await rejects(pool.hashBlob(blob), Error, /^the pool is closed$/);
  await rejects(hashBlob("text"), TypeError, /^blob must be a Blob or a File, not a string$/);
  throws(() => new Pool(0), RangeError, /^threads must be at least 1/);
  throws(() => new Pool(1.5), RangeError, /^threads must be a whole number/);
});

test("hashBlob and Pool read files, and notice changes", { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "treewide-"));
  const pool = new Pool(2);
  try {
    const path = join(folder, "file");
    const bytes = pattern(5_000_000);
    await writeFile(path, bytes);
    const blob = await openAsBlob(path);
    assert.equal(hex(await hashBlob(blob)), hashHex(bytes));
    // As in jsdom.
    const streamless = Object.assign(new Blob([bytes]), { stream: undefined });
    assert.equal(hex(await hashBlob(streamless)), hashHex(bytes));
    assert.equal(hex(await pool.hashBlob(blob)), hashHex(bytes));
    assert.equal(hex(await hashFile(path)), hashHex(bytes));
    assert.equal(hex(await pool.hashFile(pathToFileURL(path))), hashHex(bytes));
    // All bytes as they were, and then it changes.
    for (const how of [hashBlob, (...args) => pool.hashBlob(...args)]) {
      const late = await openAsBlob(path);
      const { body } = new Response(bytes);
      late.stream = () => body.pipeThrough(new TransformStream({ flush: () => appendFile(path, "more") }));
      await rejects(how(late), Error, /^the blob cannot be read at byte 4999999: if it was changed, choose it again$/);
      await writeFile(path, bytes);
    }
    for (const how of [hashFile, (...args) => pool.hashFile(...args)]) {
      // Larger than the part that a pool reads ahead.
      const long = join(folder, "long");
      await writeFile(long, pattern(20_000_000));
      await rejects(how(long, { onProgress: () => appendFileSync(long, "more") }), Error, /^`.*long' changed while it was being read/);
    }
    for (const how of [hashFile, (...args) => pool.hashFile(...args)]) {
      await rejects(how(join(folder, "nope")), Error, /^ENOENT: .*nope'$/);
      await rejects(how(folder), Error, /^`.*' is a directory/);
      await rejects(how(5), TypeError, /^path must be a string or a URL of a file, not the number 5$/);
      await writeFile(join(folder, "empty"), "");
      assert.equal(hex(await how(join(folder, "empty"), { key: pattern(32) })), hashHex("", { key: pattern(32) }));
    }
    await writeFile(path, bytes.subarray(0, 4_500_000));
    await rejects(hashBlob(blob), Error, /^the blob (cannot be read|ended)/);
    await rejects(pool.hashBlob(blob), Error, /^the blob (cannot be read|ended)/);
  } finally {
    pool.close();
    await rm(folder, { recursive: true });
  }
});

test("a signal ends a pool whose worker never answers", { timeout: 60_000 }, async () => {
  const pool = new Pool(1, { createWorker: () => new Worker("setInterval(() => {}, 1000)", { eval: true }) });
  await assert.rejects(pool.hashBlob(new Blob([pattern(5 << 20)]), { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  pool.close();
});

test("a pool of workers that cannot start says so", async () => {
  const pool = new Pool(1, { createWorker: () => { throw new Error("no workers here"); } });
  await rejects(pool.hashBlob(new Blob([pattern(5 << 20)])), Error, /no workers here/);
});

test("a pool names a worker that fails or ends, and starts new ones for the next blob", { timeout: 60_000 }, async () => {
  const blob = new Blob([pattern(5 << 20)]);
  const sources = ["throw new Error('broken')", "process.exit(0)"];
  const program = await readFile(new URL("../dist/worker.js", import.meta.url), "utf8");
  const pool = new Pool(1, { createWorker: () => new Worker(sources.shift() ?? program, { eval: true }) });
  await rejects(pool.hashBlob(blob), Error, /^a worker of the pool failed: broken/);
  await rejects(pool.hashBlob(blob), Error, /^a worker of the pool failed: it ended/);
  assert.equal(hex(await pool.hashBlob(blob)), hex(await hashBlob(blob)));
  pool.close();
});

test("verifyRange accepts what belongs to the digest, and nothing else", (t) => {
  let cases = 0;
  for (const { len: size, mode: name, digest, pairs: text } of outboards) {
    const mode = modeOf(name, hashes);
    const outboard = Uint8Array.from(Buffer.from(text, "hex"));
    const whole = { expected: digest, size, outboard, ...mode };
    const data = input.slice(0, size);
    for (const [from, to] of [[0, size], [0, Math.min(size, 1)], [size >> 1, size], [size >> 1, (size >> 1) + (size > 1 ? 1 : 0)], [Math.max(size - 1, 0), size]]) {
      const [start, end] = groupsAround(from, to, size);
      const part = data.slice(start, end);
      verifyRange(whole, start, part);
      verifyRange({ ...whole, expected: Buffer.from(digest, "hex") }, start, part);
      for (const at of [0, part.length >> 1, part.length - 1]) {
        if (part.length === 0) break;
        part[at] ^= 1;
        throws(() => verifyRange(whole, start, part), VerifyError, /^bytes \d+ to \d+ are not those of the digest$/);
        part[at] ^= 1;
      }
      cases++;
    }
    for (let at = 0; at < outboard.length; at += 13) {
      const broken = outboard.slice();
      broken[at] ^= 1;
      throws(() => verifyRange({ ...whole, outboard: broken }, 0, data), VerifyError, /^the outboard is not that of the digest, over bytes/);
    }
    throws(() => verifyRange({ ...whole, outboard: new Uint8Array(outboard.length + 1) }, 0, data), VerifyError, /^the outboard of \d+ bytes has/);
    if (size > 0) throws(() => verifyRange({ ...whole, expected: "0".repeat(64) }, 0, data), VerifyError, /digest/);
  }
  const whole = { expected: outboards.find(({ len }) => len === 16_385).digest, size: 16_385, outboard: new Uint8Array(64) };
  throws(() => verifyRange(whole, 1, new Uint8Array(5)), RangeError, /^data must be whole groups of 16384 bytes, and is bytes 1 to 6 of 16385/);
  throws(() => verifyRange(whole, 0, new Uint8Array(5)), RangeError, /^data must be whole groups/);
  throws(() => verifyRange({ ...whole, expected: "00" }, 0, input.subarray(0, 16_385)), RangeError, /^expected must have 32 bytes/);
  throws(() => groupsAround(5, 4, 10), RangeError, /^start must be a whole number from 0 to 4/);
  t.diagnostic(`verifyRange: ${cases} cases`);
});
