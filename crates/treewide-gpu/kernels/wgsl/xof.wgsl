// Blocks of extended output, one thread each.

@group(0) @binding(1) var<storage, read> nodes: array<u32>;
@group(0) @binding(5) var<storage, read_write> blocks: array<u32>;

// Four words of the nodes, from any multiple of 4 bytes on.
fn row(at: u32) -> vec4<u32> {
    return vec4(nodes[at], nodes[at + 1u], nodes[at + 2u], nodes[at + 3u]);
}

@compute @workgroup_size(TILE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let thread = id.x;
    if thread >= params.count * params.blocks {
        return;
    }
    let at = params.input_at + 32u * (thread / params.blocks);
    let block = thread % params.blocks;
    var counter = vec2(params.first.x + block, params.first.y);
    if counter.x < block {
        counter.y += 1u;
    }
    let cv = Cv(row(at), row(at + 4u));
    let flags = nodes[at + 25u] | ROOT;
    let node = Node(cv, row(at + 8u), row(at + 12u), row(at + 16u), row(at + 20u), counter, nodes[at + 24u], flags);
    let s = output(node);
    let to = params.out_at + 16u * thread;
    for (var i = 0u; i < 4u; i++) {
        blocks[to + i] = s.a[i];
        blocks[to + 4u + i] = s.b[i];
        blocks[to + 8u + i] = s.c[i];
        blocks[to + 12u + i] = s.d[i];
    }
}
