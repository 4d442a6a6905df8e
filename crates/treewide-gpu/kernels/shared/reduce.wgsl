// What the stages `tiles` and `parents` share. Each brings `slots_of`, the slots of a span, and `leaf`,
// the node of a slot; here are the search for a slot's span, the levels in shared memory, and the
// results.

@group(0) @binding(3) var<storage, read> spans: array<u32>;
@group(0) @binding(4) var<storage, read_write> cvs: array<u32>;
@group(0) @binding(5) var<storage, read_write> results: array<u32>;

const SPAN_WORDS = 12u;
// Kinds of results.
const KIND_CV = 0u;
const KIND_DIGEST = 1u;
const KIND_NODE = 2u;
const KIND_SUBTREE = 3u;

// What a thread knows of its slot.
struct Slot {
    // Bytes or values from the binding's start, how many, and the first chunk.
    start: u32,
    len: u32,
    counter: vec2<u32>,
    to: u32,
    kind: u32,
    // Its number in the span, and the slots of the span from it on: 0 between two spans.
    index: u32,
    left: u32,
}

struct Leaf {
    node: Node,
    // It is not a node, but a value that rises: that of `node.cv`.
    rises: bool,
}

fn find(slot: u32) -> Slot {
    // The last span that starts at this slot or before it.
    var low = 0u;
    var high = params.count;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if spans[SPAN_WORDS * middle + 6u] <= slot {
            low = middle;
        } else {
            high = middle;
        }
    }
    let at = SPAN_WORDS * low;
    var found: Slot;
    found.start = spans[at];
    found.len = spans[at + 2u];
    found.counter = vec2(spans[at + 4u], spans[at + 5u]);
    found.index = slot - spans[at + 6u];
    found.to = spans[at + 7u];
    found.kind = spans[at + 8u];
    let slots = slots_of(found.len);
    if found.index < slots {
        found.left = slots - found.index;
    }
    return found;
}

fn write_cv(to: u32, cv: Cv) {
    let at = params.cvs_at + 8u * to;
    for (var i = 0u; i < 4u; i++) {
        cvs[at + i] = cv.a[i];
        cvs[at + 4u + i] = cv.b[i];
    }
}

fn write_result(at: u32, row: vec4<u32>) {
    for (var i = 0u; i < 4u; i++) {
        results[params.out_at + at + i] = row[i];
    }
}

// The node on top of a tree.
fn write_top(slot: Slot, top: Node) {
    if slot.kind == KIND_NODE {
        let at = 32u * slot.to;
        write_result(at, top.cv.a);
        write_result(at + 4u, top.cv.b);
        write_result(at + 8u, top.p);
        write_result(at + 12u, top.q);
        write_result(at + 16u, top.r);
        write_result(at + 20u, top.t);
        write_result(at + 24u, vec4(top.len, top.flags, 0u, 0u));
        write_result(at + 28u, vec4(0u));
        return;
    }
    var node = top;
    if slot.kind == KIND_DIGEST {
        node.flags |= ROOT;
        // The root's counter is that of the output block.
        node.counter = vec2(0u);
    }
    let cv = compress(node);
    write_result(8u * slot.to, cv.a);
    write_result(8u * slot.to + 4u, cv.b);
}

fn parent(left: Cv, right: Cv) -> Node {
    return Node(params.key, left.a, left.b, right.a, right.b, vec2(0u), 64u, params.flags | PARENT);
}

// The nodes of a tile, and how many slots of the same span and tile are left from each slot on. The
// highest bit is set at the first slot of a tree whose slots are all in this tile.
var<workgroup> nodes: array<Cv, TILE>;
var<workgroup> lefts: array<u32, TILE>;
const TOP = 0x80000000u;

fn reduce(tile: u32, thread: u32) {
    let slot = find(tile * TILE + thread);
    let is_first = slot.left > 0u && slot.index == 0u && slot.kind != KIND_CV;
    var left = 0u;
    if slot.left > 0u {
        let leaf = leaf(slot);
        if is_first && slot.left == 1u {
            write_top(slot, leaf.node);
        } else {
            left = min(slot.left, TILE - thread);
            if is_first {
                left |= TOP;
            }
            if leaf.rises {
                nodes[thread] = leaf.node.cv;
            } else {
                nodes[thread] = compress(leaf.node);
            }
        }
    }
    lefts[thread] = left;
    // Level by level. The pair on top of a tree is left for later, as that one may be a root.
    for (var step = 1u; step < TILE; step *= 2u) {
        workgroupBarrier();
        let at = 2u * step * thread;
        if at < TILE {
            let count = lefts[at] & ~TOP;
            let is_top = (lefts[at] & TOP) != 0u && count <= 2u * step;
            if count > step && !is_top {
                nodes[at] = compress(parent(nodes[at], nodes[at + step]));
            }
        }
    }
    workgroupBarrier();
    if (left & TOP) != 0u {
        // More than one slot, as a single one wrote its result itself.
        let half = 1u << firstLeadingBit((left & ~TOP) - 1u);
        write_top(slot, parent(nodes[thread], nodes[thread + half]));
    } else if left > 0u && (slot.index == 0u || thread == 0u) {
        write_cv(slot.to + slot.index / TILE, nodes[thread]);
    }
}
