import { INPUT, SCRATCH, State, copy, input, key, memory, output, place, start, wasm } from "./engine.js";
import { OUTPUTS, bytes, checkKey, checkLength, checkOut, feed, kind, place as placeOf, setMode, taken, type Bytes, type Input, type Options } from "./input.js";
import { finish, hex } from "./output.js";

/** The most bytes of output that there are. */
const MOST_OUTPUT = (1n << 64n) - 1n;

/** Bytes that are gathered: four passes of the module, which hashes four chunks side by side. A guess. */
const GATHERED = 16 << 10;
/** Short pieces that a hasher hashes as they come, before it gathers. A guess: most hashers get few. */
const FIRST = 16;

const REASONS = [
  "",
  "state is not a saved state of a hasher",
  "state has a version that this release does not know",
  "state has a wrong length",
  "state is damaged: its check does not match",
];

/** Short pieces, which are hashed when they fill it: a call of the module takes as long as copying several of them. */
class Gathered {
  #bytes = new Uint8Array(GATHERED);
  length = 0;

  /** Takes a piece that there is room for. */
  add(data: Uint8Array): boolean {
    // A view of a buffer that was transferred, which is an error, has no bytes either.
    if (data.length === 0 || data.length > GATHERED - this.length) return false;
    this.#bytes.set(data, this.length);
    this.length += data.length;
    return true;
  }

  /** Appends it to the hasher in a place. */
  flush(at: number): void {
    if (this.length > 0) feed(at, this.#bytes.subarray(0, this.length), "data");
    this.length = 0;
  }
}

/**
 * Hashes input that arrives in pieces. There can be any number of hashers, and nothing has to be freed.
 *
 * ```js
 * const hasher = new Hasher();
 * hasher.update("foo").update("bar");
 * hasher.digestHex(); // that of "foobar"; more may follow
 * ```
 */
export class Hasher {
  #state = new State();
  /** The mode and the key with which it starts. */
  #mode = 0;
  #key: Uint8Array | undefined;
  #isNew = true;
  /** Short pieces so far; then what gathers them. One field, as each takes the time of half a block. */
  #short: number | Gathered = 0;

  /** Makes a hasher of the plain mode. {@link keyed} and {@link deriveKey} make the others. */
  constructor(...none: never[]) {
    if (none.length > 0) throw new TypeError(`new Hasher() has no arguments, but got ${kind(none[0])}: see Hasher.keyed and Hasher.deriveKey`);
  }

  /** Makes a hasher of the keyed mode; the key has 32 bytes. */
  static keyed(key: Uint8Array): Hasher {
    const hasher = new Hasher();
    // Not `slice`, which copies nothing if the key is a `Buffer` of Node.
    hasher.#key = new Uint8Array(checkKey(key));
    hasher.#mode = 1;
    return hasher;
  }

  /** Makes a hasher of the derive-key mode. The context names the purpose; it is unique, and never input. */
  static deriveKey(context: string): Hasher {
    if (typeof context !== "string") throw new TypeError(`context must be a string, not ${kind(context)}`);
    const hasher = new Hasher();
    hasher.#mode = setMode({ context });
    hasher.#key = memory.slice(key, key + 32);
    return hasher;
  }

  /** Restores a hasher from the bytes that {@link toState} returned. Accept a state only from where you would accept the key. */
  static fromState(state: Uint8Array): Hasher {
    const saved = bytes(state, "state");
    start();
    memory.set(saved.subarray(0, INPUT), input);
    const reason = wasm.load(SCRATCH, Math.min(saved.length, INPUT));
    if (reason > 0) throw new RangeError(`${REASONS[reason]} (${saved.length} bytes)`);
    const hasher = new Hasher();
    // The mode and the key of a state stand at bytes 9 and 10: `treewide::State`.
    hasher.#mode = { 16: 1, 64: 2 }[saved[9]!] ?? 0;
    hasher.#key = new Uint8Array(saved.subarray(10, 42));
    wasm.load(hasher.#at(), saved.length);
    return hasher;
  }

  /** Its place in the memory, with all that was appended. */
  #at(): number {
    const at = this.#started();
    if (typeof this.#short !== "number") this.#short.flush(at);
    return at;
  }

  #isEmpty(): boolean {
    return this.#isNew && (typeof this.#short === "number" || this.#short.length === 0);
  }

  /** Its place in the memory, started. */
  #started(): number {
    if (!this.#isNew) return place(this.#state);
    start();
    if (this.#key) memory.set(this.#key, key);
    const at = place(this.#state);
    wasm.start(at, this.#mode);
    this.#isNew = false;
    return at;
  }

  /**
   * Appends input. Each text is encoded by itself: of a surrogate pair that is split over two of them, both halves become U+FFFD, as
   * in `TextEncoder.encode`. Append bytes, or whole characters.
   */
  update(data: Input, ...none: never[]): this {
    // `node:crypto` has an encoding there.
    if (typeof none[0] === "string") throw new TypeError("update has no encoding: text is hashed as UTF-8; decode it to bytes before");
    if (typeof this.#short === "number") {
      if (++this.#short > FIRST) this.#short = new Gathered();
    } else if (data instanceof Uint8Array && this.#short.add(data)) {
      return this;
    }
    feed(this.#at(), data, "data");
    return this;
  }

  /** Fills `out` with the digest of the input so far, and returns that. More input may follow. */
  digest<Out extends Uint8Array>(options: { length?: number | undefined; out: Out }): Out;
  /** Returns the digest of the input so far: 32 bytes, or as many as `length` says. More input may follow. */
  digest(options?: Pick<Options, "length" | "out">): Bytes;
  digest(options?: Pick<Options, "length" | "out">): Uint8Array {
    const given = taken(options, OUTPUTS);
    const at = this.#at();
    if (given.length === undefined && given.out === undefined) {
      wasm.finish(at, 32, 0, 0);
      return memory.slice(output, output + 32);
    }
    const out = placeOf(given);
    finish(at, out);
    return given.out ?? out;
  }

  /** Returns the digest of the input so far as lower-case hexadecimal digits. */
  digestHex(options?: Pick<Options, "length">): string {
    const given = taken(options, ["length"]);
    if (given.length !== undefined) return hex(this.digest(given));
    wasm.finish(this.#at(), 32, 0, 0);
    return hex(memory, output, output + 32);
  }

  /** Returns the output of the input so far, of any length and from any place. Input that follows does not change it. */
  xof(): Xof {
    this.#at();
    return new Xof(copy(this.#state));
  }

  /** The bytes so far. */
  get count(): number {
    return wasm === undefined || this.#isEmpty() ? 0 : wasm.count(this.#at());
  }

  /** Forgets the input; the mode stays. */
  reset(): this {
    this.#isNew = true;
    if (typeof this.#short !== "number") this.#short.length = 0;
    return this;
  }

  /** Makes a second hasher that continues from here. */
  copy(): Hasher {
    const hasher = new Hasher();
    hasher.#mode = this.#mode;
    hasher.#key = this.#key;
    if (!this.#isEmpty()) {
      this.#at();
      hasher.#state = copy(this.#state);
      hasher.#isNew = false;
    }
    return hasher;
  }

  /**
   * Returns the state as at most 1,916 bytes, from which {@link fromState} continues: also in another process, and in treewide for
   * Rust, C, Python and Swift. **Secret**: it has the key, and up to a block of input.
   */
  toState(): Bytes {
    const length = wasm.save(this.#at());
    return memory.slice(output, output + length);
  }
}

/** Extended output: up to 2^64 - 1 bytes, from any place. */
export class Xof {
  #state: State;
  #position = 0n;

  /** @internal */
  constructor(state: State) {
    this.#state = state;
  }

  /** Where the next byte comes from. */
  get position(): bigint {
    return this.#position;
  }

  /** Goes to a place in the output: the next byte is number `position`. */
  seek(position: bigint | number): this {
    const isWhole = typeof position === "bigint" || Number.isSafeInteger(position);
    if (!isWhole || position < 0 || BigInt(position) > MOST_OUTPUT) {
      throw new RangeError(`position must be a whole number from 0 to 2^64 - 1, not ${kind(position)}`);
    }
    this.#position = BigInt(position);
    return this;
  }

  /** Returns the next bytes. */
  read(length: number): Bytes {
    return this.fill(new Uint8Array(checkLength(length, "length")));
  }

  /** Fills an array with the next bytes, and returns it. */
  fill<Out extends Uint8Array>(out: Out): Out {
    const array = checkOut(out);
    const end = this.#position + BigInt(array.length);
    if (end > MOST_OUTPUT) {
      throw new RangeError(`the output ends at byte 2^64 - 1: ${array.length} bytes from position ${this.#position} are too many`);
    }
    finish(place(this.#state), array, this.#position);
    this.#position = end;
    return out;
  }
}
