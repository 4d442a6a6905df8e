// One compression. The state is four rows of four words, so that each step of a round is one step for
// all four columns, and then, with the rows rotated, for all four diagonals.

const CHUNK_START = 1u;
const CHUNK_END = 2u;
const PARENT = 4u;
const ROOT = 8u;

const IV0 = vec4(0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au);
const IV1 = vec4(0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u);

// A chaining value, a key or a digest.
struct Cv {
    a: vec4<u32>,
    b: vec4<u32>,
}

// What one compression takes. The block's words are p, q, r and t.
struct Node {
    cv: Cv,
    p: vec4<u32>,
    q: vec4<u32>,
    r: vec4<u32>,
    t: vec4<u32>,
    counter: vec2<u32>, // low word first
    len: u32,
    flags: u32,
}

struct State {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

fn rotate(x: vec4<u32>, by: u32) -> vec4<u32> {
    return (x >> vec4(by)) | (x << vec4(32u - by));
}

fn columns(s: ptr<function, State>, x: vec4<u32>, y: vec4<u32>) {
    var a = (*s).a + (*s).b + x;
    var d = rotate((*s).d ^ a, 16u);
    var c = (*s).c + d;
    var b = rotate((*s).b ^ c, 12u);
    a = a + b + y;
    d = rotate(d ^ a, 8u);
    c = c + d;
    b = rotate(b ^ c, 7u);
    (*s).a = a;
    (*s).b = b;
    (*s).c = c;
    (*s).d = d;
}

fn diagonals(s: ptr<function, State>, x: vec4<u32>, y: vec4<u32>) {
    (*s).b = (*s).b.yzwx;
    (*s).c = (*s).c.zwxy;
    (*s).d = (*s).d.wxyz;
    columns(s, x, y);
    (*s).b = (*s).b.wxyz;
    (*s).c = (*s).c.zwxy;
    (*s).d = (*s).d.yzwx;
}

// The rows after seven rounds. Which words of the block a round uses is the message schedule.
fn rounds(n: Node) -> State {
    var s = State(n.cv.a, n.cv.b, IV0, vec4(n.counter, n.len, n.flags));
    columns(&s, vec4(n.p.x, n.p.z, n.q.x, n.q.z), vec4(n.p.y, n.p.w, n.q.y, n.q.w));
    diagonals(&s, vec4(n.r.x, n.r.z, n.t.x, n.t.z), vec4(n.r.y, n.r.w, n.t.y, n.t.w));
    columns(&s, vec4(n.p.z, n.p.w, n.q.w, n.q.x), vec4(n.q.z, n.r.z, n.p.x, n.t.y));
    diagonals(&s, vec4(n.p.y, n.t.x, n.r.y, n.t.w), vec4(n.r.w, n.q.y, n.t.z, n.r.x));
    columns(&s, vec4(n.p.w, n.r.z, n.t.y, n.q.w), vec4(n.q.x, n.t.x, n.p.z, n.t.z));
    diagonals(&s, vec4(n.q.z, n.r.y, n.r.w, n.r.x), vec4(n.q.y, n.p.x, n.t.w, n.p.y));
    columns(&s, vec4(n.r.z, n.t.x, n.t.z, n.t.y), vec4(n.q.w, n.r.y, n.p.w, n.t.w));
    diagonals(&s, vec4(n.q.x, n.r.w, n.q.y, n.p.y), vec4(n.p.x, n.p.z, n.r.x, n.q.z));
    columns(&s, vec4(n.t.x, n.r.y, n.t.w, n.t.z), vec4(n.t.y, n.r.w, n.r.z, n.r.x));
    diagonals(&s, vec4(n.q.w, n.q.y, n.p.x, n.q.z), vec4(n.p.z, n.p.w, n.p.y, n.q.x));
    columns(&s, vec4(n.r.y, n.r.w, n.r.x, n.t.w), vec4(n.t.z, n.q.y, n.t.x, n.p.y));
    diagonals(&s, vec4(n.t.y, n.p.x, n.p.z, n.q.x), vec4(n.p.w, n.r.z, n.q.z, n.q.w));
    columns(&s, vec4(n.r.w, n.q.y, n.p.y, n.r.x), vec4(n.t.w, n.p.x, n.r.y, n.q.z));
    diagonals(&s, vec4(n.t.z, n.p.z, n.p.w, n.q.w), vec4(n.r.z, n.t.x, n.q.x, n.t.y));
    return s;
}

// The chaining value, or the digest if the flags say ROOT.
fn compress(n: Node) -> Cv {
    let s = rounds(n);
    return Cv(s.a ^ s.c, s.b ^ s.d);
}

// All 16 words of output.
fn output(n: Node) -> State {
    let s = rounds(n);
    return State(s.a ^ s.c, s.b ^ s.d, s.c ^ n.cv.a, s.d ^ n.cv.b);
}
