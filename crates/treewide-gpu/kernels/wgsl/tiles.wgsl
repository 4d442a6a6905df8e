// Chunks, and the tree above them within a tile.

fn slots_of(len: u32) -> u32 {
    // The empty input also has a chunk.
    return max((len >> 10u) + select(0u, 1u, (len & 1023u) != 0u), 1u);
}

fn leaf(slot: Slot) -> Leaf {
    let at = 1024u * slot.index;
    var counter = vec2(slot.counter.x + slot.index, slot.counter.y);
    if counter.x < slot.index {
        counter.y += 1u;
    }
    let node = chunk(params.input_byte + slot.start + at, min(slot.len - at, 1024u), counter);
    return Leaf(node, false);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) tile: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    reduce(tile.x, thread);
}
