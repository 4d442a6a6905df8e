// Chaining values, two to a slot, and the tree above them within a tile.

@group(0) @binding(1) var<storage, read> values: array<u32>;

fn slots_of(len: u32) -> u32 {
    return (len + 1u) / 2u;
}

fn value(number: u32) -> Cv {
    let at = params.input_at + 8u * number;
    return Cv(
        vec4(values[at], values[at + 1u], values[at + 2u], values[at + 3u]),
        vec4(values[at + 4u], values[at + 5u], values[at + 6u], values[at + 7u]),
    );
}

fn leaf(slot: Slot) -> Leaf {
    let first = 2u * slot.index;
    let left = value(slot.start + first);
    if first + 1u == slot.len {
        var risen: Node;
        risen.cv = left;
        return Leaf(risen, true);
    }
    return Leaf(parent(left, value(slot.start + first + 1u)), false);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) tile: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    reduce(tile.x, thread);
}
