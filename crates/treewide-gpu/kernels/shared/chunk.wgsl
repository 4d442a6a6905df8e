// One chunk, by one thread. The input is bound twice: in whole blocks that start at a multiple of 16
// bytes it is read by four words, and otherwise by words, shifted.

@group(0) @binding(1) var<storage, read> words: array<u32>;
@group(0) @binding(2) var<storage, read> quads: array<vec4<u32>>;

// Word `i` from byte `at` on. `len` bytes count; the rest are 0.
fn word(at: u32, i: u32, len: u32) -> u32 {
    let first = 4u * i;
    if first >= len {
        return 0u;
    }
    let count = min(len - first, 4u);
    let place = (at >> 2u) + i;
    let skip = at & 3u;
    var value = words[place] >> (8u * skip);
    if skip + count > 4u {
        value |= words[place + 1u] << (32u - 8u * skip);
    }
    return value & (0xffffffffu >> (32u - 8u * count));
}

fn four(at: u32, i: u32, len: u32) -> vec4<u32> {
    return vec4(word(at, i, len), word(at, i + 1u, len), word(at, i + 2u, len), word(at, i + 3u, len));
}

// Up to 64 bytes from byte `at` of the binding on.
fn load(n: ptr<function, Node>, at: u32, len: u32) {
    if (at & 15u) == 0u && len == 64u {
        let quad = at >> 4u;
        (*n).p = quads[quad];
        (*n).q = quads[quad + 1u];
        (*n).r = quads[quad + 2u];
        (*n).t = quads[quad + 3u];
    } else {
        (*n).p = four(at, 0u, len);
        (*n).q = four(at, 4u, len);
        (*n).r = four(at, 8u, len);
        (*n).t = four(at, 12u, len);
    }
}

// The node of a chunk of `len` bytes from byte `start` of the binding on: all of its blocks but the
// last are compressed here.
fn chunk(start: u32, len: u32, counter: vec2<u32>) -> Node {
    var n: Node;
    n.cv = params.key;
    n.counter = counter;
    n.len = 64u;
    var at = 0u;
    var start_flag = CHUNK_START;
    while len - at > 64u {
        load(&n, start + at, 64u);
        n.flags = params.flags | start_flag;
        n.cv = compress(n);
        start_flag = 0u;
        at += 64u;
    }
    load(&n, start + at, len - at);
    n.len = len - at;
    n.flags = params.flags | start_flag | CHUNK_END;
    return n;
}
