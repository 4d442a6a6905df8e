// What all stages take in addition to their buffers. Places that are called `_at` are in words, and count from
// the start of the binding, which may be before the start of the region.

// Threads of a workgroup, and slots of a tile.
override TILE: u32;

struct Params {
    key: Cv,
    flags: u32,
    // Spans, blobs or nodes.
    count: u32,
    // Bytes of the input, and its first byte in the binding.
    input_len: u32,
    input_byte: u32,
    input_at: u32,
    table_at: u32,
    cvs_at: u32,
    out_at: u32,
    // Offsets of blobs, or the first block of extended output; low word first.
    first: vec2<u32>,
    last: vec2<u32>,
    blocks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
