//! Which launches hash what: spans, levels, windows and scratch memory, the same for all backends.
//!
//! A tree of any size takes one launch of `Tiles`, or several where a launch does not reach all of
//! it, and one of `Parents` for each 256-fold that is left: two more for 1 GiB. Many trees go through
//! the same launches side by side; small ones are done with the first. A tree that is alone may take
//! one launch for all of it.

use crate::driver::{CV, Handle, Info, Kind, Launch, NODE, Region, Span, Stage, TILE};
use crate::error::{Error, ErrorKind};
use treewide::Mode;

const CHUNK: u64 = treewide::CHUNK_LEN as u64;
/// Chunks in a tile.
const SLOTS: u64 = TILE as u64;
/// Bytes in a tile.
pub(crate) const TILE_LEN: u64 = SLOTS * CHUNK;

/// One tree, or subtree.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) memory: Handle,
    /// Its first byte in `memory`, and how many.
    pub(crate) at: u64,
    pub(crate) len: u64,
    /// The number of its first chunk.
    pub(crate) counter: u64,
    /// Which place of the results it has.
    pub(crate) to: u32,
}

impl Input {
    fn chunks(&self) -> u64 {
        self.len.div_ceil(CHUNK).max(1)
    }

    fn tiles(&self) -> u64 {
        self.chunks().div_ceil(SLOTS)
    }
}

/// Bytes of scratch memory that [`reduce`] needs: chaining values of one level, and of the next. The
/// first has room for those of all levels if one launch does them.
pub(crate) fn scratch(inputs: &[Input]) -> [u64; 2] {
    let large = || inputs.iter().map(Input::tiles).filter(|tiles| *tiles > 1);
    let first: u64 = if let [only] = inputs { values(only.tiles()) } else { large().sum() };
    let second: u64 = large().map(|tiles| tiles.div_ceil(2 * SLOTS)).sum();
    [CV * first.max(1), CV * second.max(1)]
}

/// Values of all levels of a tree that has that many tiles of chunks.
pub(crate) fn values(tiles: u64) -> u64 {
    levels(tiles).sum()
}

/// Tiles of a level of a tree that one launch does, and of each above it.
pub(crate) fn levels(tiles: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(tiles), |tiles| (*tiles > 1).then(|| tiles.div_ceil(SLOTS)))
}

/// The launches that reduce each input to one result of that kind in `out`; one of at most `one_launch`
/// bytes that is alone by one launch. The scratch regions are as long as [`scratch`] says, in buffers
/// of their own.
pub(crate) fn reduce(
    info: &Info,
    one_launch: u64,
    mode: &Mode,
    kind: Kind,
    inputs: &[Input],
    scratch: [&Region; 2],
    out: &Region,
) -> Result<Vec<Launch>, Error> {
    debug_assert!(kind != Kind::Cv, "a result");
    if scratch.iter().any(|values| values.len > info.reach()) {
        return Err(too_large(info, scratch[0].len / CV * TILE_LEN));
    }
    let most = one_launch.min(info.most_in_one_launch);
    if let [input] = inputs
        && most > 0
        && input.len <= most
        && input.tiles() <= u64::from(info.most_tiles)
        && (input.memory.address().is_some() || input.len <= info.reach())
    {
        let stage = whole(kind, input, scratch[0], out);
        return Ok(vec![Launch { stage, mode: *mode }]);
    }
    let mut tiles = Packer::new(info, scratch[0], out);
    // Trees of more than one tile: where their chaining values are, how many, and the result.
    let mut large: Vec<Large> = Vec::new();
    let mut used = 0;
    for input in inputs {
        let count = input.tiles();
        if count == 1 {
            tiles.piece(input, 0, input.len, input.to, kind)?;
            continue;
        }
        large.push((used, count, input.to));
        let mut done = 0;
        while done < input.len {
            let to = index(used + done / TILE_LEN)?;
            done += tiles.piece(input, done, input.len - done, to, Kind::Cv)?;
        }
        used += count;
    }
    let mut stages = tiles.finish();
    let (mut from, mut onto) = (scratch[0], scratch[1]);
    while !large.is_empty() {
        let (stage, rest) = level(info, kind, &large, from, onto, out)?;
        stages.extend(stage);
        large = rest;
        std::mem::swap(&mut from, &mut onto);
    }
    Ok(stages.into_iter().map(|stage| Launch { stage, mode: *mode }).collect())
}

/// All of one tree.
fn whole(kind: Kind, input: &Input, cvs: &Region, out: &Region) -> Stage {
    let Input { memory, at, len, counter, to } = input;
    let start = memory.address().map_or(0, |address| address + at);
    let mut spans = vec![Span { start, len: *len, counter: *counter, slot: 0, to: *to, kind }];
    Stage::Tiles {
        input: Region { memory: memory.clone(), at: *at, len: *len },
        others: Vec::new(),
        out: narrowed(out, &mut spans),
        spans,
        slots: (input.tiles() * SLOTS) as u32,
        whole: true,
        cvs: cvs.clone(),
    }
}

/// A tree of more than one node: where its values start, how many there are, and its place in the
/// results.
type Large = (u64, u64, u32);

/// One level of `Parents`, and what is left after it.
fn level(
    info: &Info,
    kind: Kind,
    large: &[Large],
    from: &Region,
    onto: &Region,
    out: &Region,
) -> Result<(Vec<Stage>, Vec<Large>), Error> {
    let (mut stages, mut rest) = (Vec::new(), Vec::new());
    let (mut spans, mut slots, mut used) = (Vec::new(), 0, 0);
    let mut flush = |spans: &mut Vec<Span>, slots: &mut u64| {
        if !spans.is_empty() {
            let mut spans = std::mem::take(spans);
            stages.push(Stage::Parents {
                input: from.clone(),
                out: narrowed(out, &mut spans),
                spans,
                slots: std::mem::take(slots) as u32,
                cvs: onto.clone(),
            });
        }
    };
    for &(start, len, to) in large {
        let pairs = len.div_ceil(2);
        let tiles = pairs.div_ceil(SLOTS);
        if aligned(slots, pairs) + pairs > most_slots(info) || !fits(info, &spans, kind, to) {
            flush(&mut spans, &mut slots);
        }
        // A level of one tree is never cut.
        if pairs > most_slots(info) {
            return Err(too_large(info, len * TILE_LEN));
        }
        let slot = aligned(slots, pairs);
        slots = slot + pairs;
        let mut span = Span { start, len, counter: 0, slot: slot as u32, to, kind };
        if tiles > 1 {
            (span.to, span.kind) = (index(used)?, Kind::Cv);
            rest.push((used, tiles, to));
            used += tiles;
        }
        spans.push(span);
    }
    flush(&mut spans, &mut slots);
    Ok((stages, rest))
}

/// Puts pieces of inputs into as few launches as the device allows.
struct Packer<'a> {
    info: &'a Info,
    cvs: &'a Region,
    out: &'a Region,
    stages: Vec<Stage>,
    open: Option<Open>,
}

/// A launch to which spans are added.
struct Open {
    input: Region,
    others: Vec<Handle>,
    spans: Vec<Span>,
    slots: u64,
}

impl<'a> Packer<'a> {
    fn new(info: &'a Info, cvs: &'a Region, out: &'a Region) -> Self {
        Self { info, cvs, out, stages: Vec::new(), open: None }
    }

    /// Adds up to `len` bytes of an input from byte `from` of it on, and returns how many: all, or
    /// whole tiles.
    fn piece(
        &mut self,
        input: &Input,
        from: u64,
        len: u64,
        to: u32,
        kind: Kind,
    ) -> Result<u64, Error> {
        let at = input.at + from;
        let address = input.memory.address();
        if let Some(open) = &self.open
            && !(open.takes(self.info, input, at, len) && fits(self.info, &open.spans, kind, to))
        {
            self.close();
        }
        let info = self.info;
        let open = self.open.get_or_insert_with(|| Open {
            input: Region { memory: input.memory.clone(), at, len: 0 },
            others: Vec::new(),
            spans: Vec::new(),
            slots: 0,
        });
        // What a window of its own would take, which is what an empty launch has to offer.
        let mut most = most_slots(info) * CHUNK;
        if address.is_none() {
            most = most.min(info.reach());
        }
        let take = if len <= most { len } else { most / TILE_LEN * TILE_LEN };
        if take == 0 && len > 0 {
            return Err(too_large(info, len));
        }
        let chunks = take.div_ceil(CHUNK).max(1);
        let slot = aligned(open.slots, chunks);
        open.slots = slot + chunks;
        let start = match address {
            Some(address) => {
                if !same(&open.input.memory, &input.memory)
                    && open.others.last().is_none_or(|last| !same(last, &input.memory))
                {
                    open.others.push(input.memory.clone());
                }
                address + at
            }
            None => at - open.input.at,
        };
        if same(&open.input.memory, &input.memory) {
            open.input.len = open.input.len.max((at + take).saturating_sub(open.input.at));
        }
        let counter = input.counter + from / CHUNK;
        open.spans.push(Span { start, len: take, counter, slot: slot as u32, to, kind });
        if take < len {
            self.close();
        }
        Ok(take)
    }

    fn close(&mut self) {
        if let Some(Open { input, others, mut spans, slots }) = self.open.take() {
            self.stages.push(Stage::Tiles {
                input,
                others,
                out: narrowed(self.out, &mut spans),
                spans,
                slots: slots as u32,
                whole: false,
                cvs: self.cvs.clone(),
            });
        }
    }

    fn finish(mut self) -> Vec<Stage> {
        self.close();
        self.stages
    }
}

impl Open {
    /// Whether the launch reaches all of these bytes and has tiles for them.
    fn takes(&self, info: &Info, input: &Input, at: u64, len: u64) -> bool {
        let chunks = len.div_ceil(CHUNK).max(1);
        if aligned(self.slots, chunks) + chunks > most_slots(info) {
            return false;
        }
        if input.memory.address().is_some() {
            return true;
        }
        same(&self.input.memory, &input.memory)
            && at >= self.input.at
            && at + len - self.input.at <= info.reach()
    }
}

/// Bytes of a result.
fn size(kind: Kind) -> u64 {
    if kind == Kind::Node { NODE } else { CV }
}

/// Whether a launch with these spans has room for one more in its table, and reaches its result.
fn fits(info: &Info, spans: &[Span], kind: Kind, to: u32) -> bool {
    let first = spans.iter().find(|span| span.kind != Kind::Cv).map_or(to, |span| span.to);
    let places = info.reach() / size(kind);
    (spans.len() as u64) < info.reach() / (4 * Span::WORDS as u64)
        && (kind == Kind::Cv || to >= first && u64::from(to - first) < places)
}

/// The part of the results that spans write to, from which their places count then.
fn narrowed(out: &Region, spans: &mut [Span]) -> Region {
    let results = || spans.iter().filter(|span| span.kind != Kind::Cv);
    let (Some(first), Some(last)) = (results().next(), results().next_back()) else {
        return part_of(out, 0, 0);
    };
    let (first, size) = (first.to, size(first.kind));
    let len = u64::from(last.to - first + 1) * size;
    for span in spans.iter_mut().filter(|span| span.kind != Kind::Cv) {
        span.to -= first;
    }
    part_of(out, u64::from(first) * size, len)
}

fn same(one: &Handle, other: &Handle) -> bool {
    std::sync::Arc::ptr_eq(one, other)
}

/// The first slot from `slot` on where a span of `slots` slots may start.
fn aligned(slot: u64, slots: u64) -> u64 {
    slot.next_multiple_of(slots.next_power_of_two().min(SLOTS))
}

/// Slots of one launch; their numbers have 32 bits.
fn most_slots(info: &Info) -> u64 {
    (u64::from(info.most_tiles) * SLOTS).min(1 << 31)
}

/// Places of results and values have 32 bits.
fn index(place: u64) -> Result<u32, Error> {
    u32::try_from(place)
        .map_err(|_| Error::new(ErrorKind::TooLarge, "more than 2^32 tiles in one call"))
}

fn too_large(info: &Info, len: u64) -> Error {
    let cause = format_args!("{len} bytes are more than this device can hash at a time");
    Error::new(ErrorKind::TooLarge, cause).on(&info.name)
}

/// The launches that hash all blobs of at most one chunk of `input`, whose `count + 1` offsets are in
/// `offsets`; how many there are of others is added to `left`.
pub(crate) fn blobs(
    info: &Info,
    mode: &Mode,
    input: &Region,
    offsets: &Region,
    count: u64,
    out: &Region,
    left: &Region,
) -> Vec<Launch> {
    let window = info.reach();
    // The blobs whose digests are within a window; their offsets are as well.
    let most = (window / CV).min(most_slots(info));
    // Blobs that start in one window and end in the next are reached from the first.
    let step = if window >= input.len { u64::MAX } else { window - CHUNK };
    let mut launches = Vec::new();
    for first in (0..count).step_by(most as usize) {
        let count = most.min(count - first);
        let mut base = 0;
        loop {
            let rest = input.len - base;
            let is_last = rest <= step;
            let stage = Stage::Blobs {
                input: part_of(input, base, if is_last { rest } else { window.min(rest) }),
                offsets: part_of(offsets, 8 * first, 8 * (count + 1)),
                count: count as u32,
                base,
                last: if is_last { u64::MAX } else { base + step - 1 },
                out: part_of(out, CV * first, CV * count),
                left: left.clone(),
            };
            launches.push(Launch { stage, mode: *mode });
            if is_last {
                break;
            }
            base += step;
        }
    }
    launches
}

/// The launches that write `blocks` blocks of extended output of each node, from block `position` on.
pub(crate) fn xof(
    info: &Info,
    mode: &Mode,
    nodes: &Region,
    position: u64,
    blocks: u64,
    out: &Region,
) -> Vec<Launch> {
    const BLOCK: u64 = treewide::BLOCK_LEN as u64;
    let count = nodes.len / NODE;
    let most = (info.reach() / BLOCK).min(most_slots(info));
    // Some nodes at a time, or some blocks of one.
    let step = (most / blocks.max(1)).min(info.reach() / NODE).clamp(1, count.max(1));
    let mut launches = Vec::new();
    for first in (0..count).step_by(step as usize) {
        let take = step.min(count - first);
        let mut done = 0;
        while done < blocks {
            let part = if take > 1 { blocks } else { most.min(blocks - done) };
            let at = (first * blocks + done) * BLOCK;
            let stage = Stage::Xof {
                nodes: part_of(nodes, first * NODE, take * NODE),
                count: take as u32,
                out: part_of(out, at, take * part * BLOCK),
                position: position + done,
                blocks: part as u32,
            };
            launches.push(Launch { stage, mode: *mode });
            done += part;
        }
    }
    launches
}

fn part_of(region: &Region, at: u64, len: u64) -> Region {
    debug_assert!(at + len <= region.len, "within the region");
    Region { memory: region.memory.clone(), at: region.at + at, len }
}
