// Nodes or chaining values as words, from any multiple of 4 bytes on: for `pairs` and `xof`.

@group(0) @binding(1) var<storage, read> nodes: array<u32>;

fn row(at: u32) -> vec4<u32> {
    return vec4(nodes[at], nodes[at + 1u], nodes[at + 2u], nodes[at + 3u]);
}
