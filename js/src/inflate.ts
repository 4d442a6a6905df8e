// The inverse of deflate (RFC 1951), for the module in this package and nothing else: base64 of what is compressed is a third
// smaller than base64 of the module, also after a server compresses it again. What browsers have for it is asynchronous.

/** How many codes of each length there are, and their symbols in order. */
type Codes = [counts: Uint16Array, symbols: Uint16Array];

function codes(lengths: Uint8Array): Codes {
  const counts = new Uint16Array(16);
  for (const length of lengths) counts[length]!++;
  counts[0] = 0;
  const places = new Uint16Array(16);
  for (let length = 1; length < 15; length++) places[length + 1] = places[length]! + counts[length]!;
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => length && (symbols[places[length]!++] = symbol));
  return [counts, symbols];
}

/** Places of the lengths of the codes for lengths. */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Lengths or distances: the extra bits of each symbol, and the least value. */
function values(count: number, step: number, least: number): [bits: number[], from: number[]] {
  const bits = [], from = [];
  for (let symbol = 0; symbol < count; symbol++) {
    bits.push(symbol < 2 * step ? 0 : Math.floor(symbol / step) - 1);
    from.push(least);
    least += 1 << bits[symbol]!;
  }
  return [bits, from];
}

const LENGTHS = values(28, 4, 3);
LENGTHS[0].push(0);
LENGTHS[1].push(258);
const DISTANCES = values(30, 2, 1);

/** Inflates `input`, which has `size` bytes then. */
export function inflate(input: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(size);
  let [from, to, held, count] = [0, 0, 0, 0];
  const take = (bits: number) => {
    for (; count < bits; count += 8) held |= input[from++]! << count;
    const value = held & ((1 << bits) - 1);
    held >>>= bits;
    count -= bits;
    return value;
  };
  const decode = ([counts, symbols]: Codes) => {
    for (let code = 0, first = 0, index = 0, length = 1; ; length++) {
      code |= take(1);
      const more = counts[length]!;
      if (code - more < first) return symbols[index + code - first]!;
      index += more;
      first = (first + more) << 1;
      code <<= 1;
    }
  };
  for (let last = 0; !last; ) {
    last = take(1);
    const kind = take(2);
    if (kind === 0) {
      count = held = 0;
      const length = input[from]! | (input[from + 1]! << 8);
      out.set(input.subarray(from + 4, from + 4 + length), to);
      from += 4 + length;
      to += length;
      continue;
    }
    let lengths = new Uint8Array(320);
    let literals = 288;
    if (kind === 1) {
      lengths.fill(8, 0, 144).fill(9, 144, 256).fill(7, 256, 280).fill(8, 280, 288).fill(5, 288, 318);
    } else {
      literals = take(5) + 257;
      const all = literals + take(5) + 1;
      const own = new Uint8Array(19);
      for (let left = take(4) + 4, at = 0; left--; ) own[ORDER[at++]!] = take(3);
      const table = codes(own);
      for (let at = 0; at < all; ) {
        const symbol = decode(table);
        if (symbol < 16) {
          lengths[at++] = symbol;
        } else {
          const value = symbol === 16 ? lengths[at - 1]! : 0;
          const times = symbol === 16 ? take(2) + 3 : symbol === 17 ? take(3) + 3 : take(7) + 11;
          lengths.fill(value, at, (at += times));
        }
      }
      lengths = lengths.subarray(0, all);
    }
    const [texts, distances] = [codes(lengths.subarray(0, literals)), codes(lengths.subarray(literals))];
    for (let symbol; (symbol = decode(texts)) !== 256; ) {
      if (symbol < 256) {
        out[to++] = symbol;
        continue;
      }
      let left = LENGTHS[1][symbol - 257]! + take(LENGTHS[0][symbol - 257]!);
      const code = decode(distances);
      const distance = DISTANCES[1][code]! + take(DISTANCES[0][code]!);
      for (; left--; to++) out[to] = out[to - distance]!;
    }
  }
  return out;
}
