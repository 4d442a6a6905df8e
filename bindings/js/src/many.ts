import { INPUT, MANY, digests, input, memory, offsets, wasm, window_ } from "./engine.js";
import { hash } from "./hash.js";
import { bytes, checkLength, kind, setMode, type Bytes, type Input, type Options } from "./input.js";

/** Inputs in one array: number `i` is the bytes from `offsets[i]` up to `offsets[i + 1]`. */
export interface Packed {
  data: Uint8Array;
  offsets: ArrayLike<number>;
}

const encoder = new TextEncoder();

/** Hashes many inputs to `out`, which has as many bytes as all digests, and returns that. */
export function hashMany<Out extends Uint8Array>(list: ArrayLike<Input> | Packed, options: Options & { out: Out }): Out;
/**
 * Hashes many inputs, which are side by side in the lanes of one vector. Returns the digests one after the other: number `i`
 * is `digests.subarray(32 * i, 32 * i + 32)`.
 *
 * ```js
 * hashMany(["ash", "beech", "cedar"]);
 * hashMany({ data, offsets: Uint32Array.of(0, 3, 8, 13) });
 * ```
 */
export function hashMany(list: ArrayLike<Input> | Packed, options?: Options): Bytes;
export function hashMany(list: ArrayLike<Input> | Packed, options: Options = {}): Uint8Array {
  if (typeof list !== "object" || list === null) {
    throw new TypeError(`list must be an array of inputs, or an object with data and offsets, not ${kind(list)}`);
  }
  const packed = "offsets" in list ? list : undefined;
  if (!packed && !Number.isInteger((list as ArrayLike<Input>).length)) {
    throw new TypeError(`list must be an array of inputs, or an object with data and offsets, not ${kind(list)}`);
  }
  // What makes its inputs when it is asked may use the memory for that: so they are asked for before.
  if (!packed && !Array.isArray(list)) list = Array.from(list as ArrayLike<Input>);
  const count = packed ? Math.max(packed.offsets.length - 1, 0) : (list as ArrayLike<Input>).length;
  const each = options.length === undefined ? 32 : checkLength(options.length, "length");
  const out = options.out ?? new Uint8Array(count * each);
  if (!(out instanceof Uint8Array)) throw new TypeError(`out must be a Uint8Array, not ${kind(out)}`);
  if (out.length !== count * each) {
    throw new RangeError(`out must have ${count * each} bytes, ${each} for each of ${count} inputs, not ${out.length}`);
  }
  const mode: Options = { key: options.key, context: options.context };
  if (each > 32) {
    const get = packed ? getter(packed, bytes(packed.data, "list.data")) : (index: number) => (list as ArrayLike<Input>)[index]!;
    for (let index = 0; index < count; index++) {
      named(index, () => hash(get(index), { ...mode, out: out.subarray(index * each, (index + 1) * each) }));
    }
    return out;
  }
  const batch = new Batch(mode, each, out);
  if (packed) batch.packed(packed, count);
  else batch.list(list as ArrayLike<Input>);
  return out;
}

/** Calls a function for an input of a list, whose errors name it. */
function named<T>(index: number, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof TypeError) error.message = error.message.replace(/^data\b/, `list[${index}]`);
    throw error;
  }
}

function getter({ offsets }: Packed, data: Uint8Array): (index: number) => Uint8Array {
  let before = checkOffset(offsets, 0, 0, data.length);
  return (index) => data.subarray(before, (before = checkOffset(offsets, index + 1, before, data.length)));
}

function checkOffset(offsets: ArrayLike<number>, index: number, least: number, most: number): number {
  const offset = offsets[index]!;
  if (!(Number.isInteger(offset) && offset >= least && offset <= most)) {
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

  constructor(private options: Options, private each: number, private out: Uint8Array) {
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
    hash(data, { ...this.options, out: this.out.subarray(this.first * this.each, (this.first + 1) * this.each) });
    this.first++;
    this.mode = setMode(this.options);
  }

  list(list: ArrayLike<Input>): void {
    // In variables of this function, which engines keep in registers.
    const [into, ends, at] = [memory, offsets, input];
    let { count, end } = this;
    for (let index = 0; index < list.length; index++) {
      const data = list[index]!;
      const next = data instanceof Uint8Array && data.length > 0 ? end + data.length : Infinity;
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
      return this.push(encoder.encodeInto(data, window_.subarray(this.end)).written);
    }
    const array = named(index, () => bytes(data, "data"));
    if (array.length > INPUT) return this.alone(array);
    if (array.length > INPUT - this.end) this.flush();
    memory.set(array, input + this.end);
    this.push(array.length);
  }

  packed(list: Packed, count: number): void {
    const data = bytes(list.data, "list.data");
    if (count === 0) return;
    let start = checkOffset(list.offsets, 0, 0, data.length);
    for (let index = 0; index < count; ) {
      // As many as fit, and one copy for all of them.
      const base = start;
      while (index < count && this.count < MANY) {
        const next = checkOffset(list.offsets, index + 1, start, data.length);
        if (next - base > INPUT) break;
        offsets[++this.count] = next - base;
        start = next;
        index++;
      }
      if (this.count > 0) {
        memory.set(data.subarray(base, start), input);
        this.flush();
      } else {
        this.alone(data.subarray(start, (start = list.offsets[++index]!)));
      }
    }
  }
}
