// One level of a Merkle tree, one thread for each of its nodes.

@group(0) @binding(5) var<storage, read_write> above: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let thread = id.x;
    if thread >= (params.count + 1u) / 2u {
        return;
    }
    let at = params.input_at + 16u * thread;
    var node = Cv(row(at), row(at + 4u));
    // An odd last one rises as it is.
    if 2u * thread + 1u < params.count {
        // A whole input of one block.
        let flags = params.flags | CHUNK_START | CHUNK_END | ROOT;
        let pair = Node(params.key, node.a, node.b, row(at + 8u), row(at + 12u), vec2(0u), 64u, flags);
        node = compress(pair);
    }
    let to = params.out_at + 8u * thread;
    for (var i = 0u; i < 4u; i++) {
        above[to + i] = node.a[i];
        above[to + 4u + i] = node.b[i];
    }
}
