import { INPUT, MANY, digests, input, memory, offsets, wasm, window_ } from "./engine.js";
import { hashTo } from "./hash.js";
import { OPTIONS, bytes, checkLength, checkOut, encode, isBytes, kind, lengthOf, setMode, taken, type Bytes, type Input, type Mode, type Options } from "./input.js";

/** Inputs in one array: number `i` is the bytes from `offsets[i]` up to `offsets[i + 1]`. */
export interface Packed {
  data: Uint8Array;
  /** Numbers, or whole `bigint`s as Arrow has them. */
  offsets: ArrayLike<number | bigint>;
}

/** Hashes many inputs to `out`, which has as many bytes as all digests, and returns that. */
export function hashMany<Out extends Uint8Array>(list: ArrayLike<Input> | Packed, options: Options & { out: Out }): Out;
/**
 * Hashes many inputs, which are side by side in the lanes of one vector. Returns the digests one after the other: number `i`
 * is `digests.subarray(32 * i, 32 * i + 32)`. All inputs of a list are asked for before the first is hashed.
 *
 * ```js
 * hashMany(["ash", "beech", "cedar"]);
 * hashMany({ data, offsets: Uint32Array.of(0, 3, 8, 13) });
 * ```
 */
export function hashMany(list: ArrayLike<Input> | Packed, options?: Options): Bytes;
export function hashMany(list: ArrayLike<Input> | Packed, options?: Options): Uint8Array {
  const given = taken(options, OPTIONS);
  const wrong = () => new TypeError(`list must be an array of inputs, or an object with data and offsets, not ${kind(list)}`);
  if (typeof list !== "object" || list === null) throw wrong();
  let inputs: Input[] | undefined, packed: Cut | undefined;
  if ("offsets" in list) {
    packed = cut(list);
  } else {
    // Also an array may be a proxy, or have getters.
    const { length } = list;
    if (!Number.isInteger(length) || length < 0) throw wrong();
    inputs = new Array<Input>(length);
    for (let index = 0; index < length; index++) inputs[index] = list[index]!;
  }
  const count = inputs?.length ?? Math.max(packed!.ends.length - 1, 0);
  const each = given.length === undefined ? 32 : checkLength(given.length, "length");
  const out = given.out === undefined ? new Uint8Array(count * each) : checkOut(given.out);
  if (out.length !== count * each) {
    throw new RangeError(`out must have ${count * each} bytes, ${each} for each of ${count} inputs, not ${out.length}`);
  }
  // Digests would overwrite inputs that wait.
  const isShared = given.out !== undefined && (inputs ?? [packed!.data]).some((it) => (ArrayBuffer.isView(it) ? it.buffer : it) === out.buffer);
  const to = isShared ? new Uint8Array(out.length) : out;
  if (each > 32) {
    const get = inputs ? (index: number) => inputs[index]! : getter(packed!);
    for (let index = 0; index < count; index++) hashTo(get(index), index, given, to.subarray(index * each, (index + 1) * each));
  } else {
    const batch = new Batch(given, each, to);
    if (inputs) batch.list(inputs);
    else batch.packed(packed!, count);
  }
  if (isShared) out.set(to);
  return given.out ?? out;
}

/** The parts of a {@link Packed}, read once. */
interface Cut {
  data: Uint8Array;
  ends: ArrayLike<unknown>;
}

function cut(packed: Packed): Cut {
  const { data, offsets } = packed;
  if (typeof offsets !== "object" || offsets === null || !Number.isInteger(offsets.length)) {
    throw new TypeError(`list.offsets must be an array of numbers, not ${kind(offsets)}`);
  }
  const number = (offset: unknown) => (typeof offset === "bigint" ? Number(offset) : offset);
  // No code of the caller runs when an element of a typed array is read.
  const isPlain = ArrayBuffer.isView(offsets) && typeof offsets[0] !== "bigint";
  return { data: bytes(data, "list.data"), ends: isPlain ? offsets : Array.from(offsets, number) };
}

function getter({ ends, data }: Cut): (index: number) => Uint8Array {
  let before = checkOffset(ends, 0, 0, data.length);
  return (index) => data.subarray(before, (before = checkOffset(ends, index + 1, before, data.length)));
}

function checkOffset(ends: ArrayLike<unknown>, index: number, least: number, most: number): number {
  const offset = ends[index];
  if (!(typeof offset === "number" && Number.isInteger(offset) && offset >= least && offset <= most)) {
    throw new RangeError(
      `list.offsets[${index}] must be a whole number from ${least}, the offset before it, to ${most}, the bytes of list.data, not ${kind(offset)}`,
    );
  }
  return offset;
}

/** Inputs in the window that are hashed together. */
class Batch {
  private mode: number;
  private first = 0;
  private count = 0;
  private end = 0;

  constructor(private options: Mode, private each: number, private out: Uint8Array) {
    this.mode = setMode(options);
    offsets[0] = 0;
  }

  /** Hashes what is in the window. */
  private flush(): void {
    const { count, each, first, out } = this;
    if (count > 0) {
      wasm.many(this.mode, count);
      if (each === 32) {
        out.set(memory.subarray(digests, digests + 32 * count), 32 * first);
      } else {
        for (let at = 0; at < count; at++) {
          out.set(memory.subarray(digests + 32 * at, digests + 32 * at + each), (first + at) * each);
        }
      }
    }
    this.first += count;
    this.count = this.end = 0;
  }

  private push(length: number): void {
    this.end += length;
    offsets[++this.count] = this.end;
  }

  /** An input that does not fit into the window. */
  private alone(data: Input): void {
    this.flush();
    hashTo(data, this.first, this.options, this.out.subarray(this.first * this.each, (this.first + 1) * this.each));
    this.first++;
    this.mode = setMode(this.options);
  }

  list(list: Input[]): void {
    // In variables of this function, which engines keep in registers.
    const [into, ends, at] = [memory, offsets, input];
    let { count, end } = this;
    for (let index = 0; index < list.length; index++) {
      const data = list[index]!;
      const length = isBytes(data) ? lengthOf(data) : 0;
      const next = length > 0 ? end + length : Infinity;
      if (next <= INPUT && count < MANY) {
        into.set(data as Uint8Array, at + end);
        ends[++count] = end = next;
      } else {
        this.count = count;
        this.end = end;
        this.add(data, index);
        ({ count, end } = this);
      }
    }
    this.count = count;
    this.flush();
  }

  /** Any input, with as much room as it needs. */
  private add(data: Input, index: number): void {
    if (this.count === MANY) this.flush();
    if (typeof data === "string") {
      // UTF-8 has at most three bytes for each code unit.
      if (3 * data.length > INPUT) return this.alone(data);
      if (3 * data.length > INPUT - this.end) this.flush();
      return this.push(encode(data, window_.subarray(this.end)).written);
    }
    const array = bytes(data, index, "a string, ");
    if (array.length > INPUT) return this.alone(array);
    if (array.length > INPUT - this.end) this.flush();
    memory.set(array, input + this.end);
    this.push(array.length);
  }

  packed({ ends, data }: Cut, count: number): void {
    if (count === 0) return;
    let start = checkOffset(ends, 0, 0, data.length);
    for (let index = 0; index < count; ) {
      // As many as fit, and one copy for all of them.
      const base = start;
      while (index < count && this.count < MANY) {
        const next = checkOffset(ends, index + 1, start, data.length);
        if (next - base > INPUT) break;
        offsets[++this.count] = next - base;
        start = next;
        index++;
      }
      if (this.count > 0) {
        memory.set(data.subarray(base, start), input);
        this.flush();
      } else {
        this.alone(data.subarray(start, (start = checkOffset(ends, ++index, start, data.length))));
      }
    }
  }
}
