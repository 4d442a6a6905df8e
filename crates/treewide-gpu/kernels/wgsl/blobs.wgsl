// Blobs of at most a chunk, one thread each.

@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> left: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> digests: array<u32>;

fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn minus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn offset(number: u32) -> vec2<u32> {
    let at = params.table_at + 2u * number;
    return vec2(offsets[at], offsets[at + 1u]);
}

@compute @workgroup_size(TILE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let thread = id.x;
    if thread >= params.count {
        return;
    }
    let start = offset(thread);
    let end = offset(thread + 1u);
    if is_less(start, params.first) || is_less(params.last, start) {
        return; // another launch has it
    }
    let at = minus(start, params.first);
    let len = minus(end, start);
    // In this order, so that nothing overflows.
    let most = min(params.input_len, 1024u);
    if is_less(end, start) || len.y > 0u || len.x > most || at.y > 0u || at.x > params.input_len - len.x {
        atomicAdd(&left[params.cvs_at], 1u);
        return;
    }
    var node = chunk(params.input_byte + at.x, len.x, vec2(0u));
    node.flags |= ROOT;
    let digest = compress(node);
    let to = params.out_at + 8u * thread;
    for (var i = 0u; i < 4u; i++) {
        digests[to + i] = digest.a[i];
        digests[to + 4u + i] = digest.b[i];
    }
}
