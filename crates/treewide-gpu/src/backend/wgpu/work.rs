//! A list of work, its recording as commands, and its end.

use super::memory::{self, Copied, Mapped};
use super::{Common, shaders::Pipelines};
use crate::driver::{Launch, Order, Region, Running, Span, Stage, Staging, TILE, Work};
use crate::error::{Error, ErrorKind};
use ::wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferAsyncError, BufferBinding,
    BufferUsages, CommandEncoder, CommandEncoderDescriptor, ComputePassDescriptor,
    ComputePassTimestampWrites, ComputePipeline, Features, MapMode, PollType, QuerySet,
    QuerySetDescriptor, QueryType, SubmissionIndex,
};
use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Where parts of our own buffers start: what every device allows.
const PART: usize = 256;

pub(super) struct Recorded {
    common: Arc<Common>,
    steps: Vec<Step>,
    /// What the host gives with it: parameters, tables, and what is to be copied.
    given: Vec<u8>,
    /// Bytes that are read.
    read: u64,
    reads: Vec<std::ops::Range<usize>>,
    launches: usize,
    timed: bool,
}

enum Step {
    /// From bytes of the host.
    Write {
        from: u64,
        to: Region,
    },
    CopyIn {
        from: Buffer,
        /// When it is done.
        copied: Copied,
        to: Region,
    },
    Launch {
        launch: Launch,
        params: u64,
        table: u64,
    },
    Read {
        from: Region,
        to: u64,
    },
}

impl Recorded {
    pub(super) fn new(common: Arc<Common>, order: Order) -> Self {
        let timed = order.timed && common.device.features().contains(Features::TIMESTAMP_QUERY);
        Self {
            common,
            steps: Vec::new(),
            given: Vec::new(),
            read: 0,
            reads: Vec::new(),
            launches: 0,
            timed,
        }
    }

    /// Appends to the bytes of the host; returns where.
    fn give(&mut self, bytes: impl IntoIterator<Item = u8>) -> u64 {
        self.given.resize(self.given.len().next_multiple_of(PART), 0);
        let at = self.given.len();
        self.given.extend(bytes);
        at as u64
    }
}

impl Work for Recorded {
    fn write(&mut self, bytes: &[u8], to: &Region) -> Result<(), Error> {
        let from = self.give(bytes.iter().copied());
        self.steps.push(Step::Write { from, to: to.clone() });
        Ok(())
    }

    fn copy_in(&mut self, from: &mut dyn Staging, to: &Region) -> Result<(), Error> {
        if to.len == 0 {
            return Ok(());
        }
        let any: &mut dyn Any = from;
        let mapped: &mut Mapped = any.downcast_mut().expect("a buffer of this backend");
        let from = mapped.unmapped().clone();
        let copied = mapped.copied.clone();
        self.steps.push(Step::CopyIn { from, copied, to: to.clone() });
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        let params = self.give(params(launch, self.common.alignment));
        let table = match &launch.stage {
            Stage::Tiles { whole: true, .. } => return Err(Error::invalid("a whole tree at once")),
            Stage::Tiles { spans, .. } | Stage::Parents { spans, .. } => {
                self.give(spans.iter().flat_map(Span::words).flat_map(u32::to_le_bytes))
            }
            _ => 0,
        };
        self.launches += 1;
        self.steps.push(Step::Launch { launch: launch.clone(), params, table });
        Ok(())
    }

    fn read(&mut self, from: &Region) -> Result<(), Error> {
        // Copies whole words, and takes from them the bytes that were asked for.
        let before = from.at % 4;
        let from = Region { at: from.at - before, len: before + from.len, ..from.clone() };
        let at = self.read + before;
        self.reads.push(at as usize..(self.read + from.len) as usize);
        if from.len > 0 {
            self.steps.push(Step::Read { from: from.clone(), to: self.read });
            self.read = (self.read + from.len).next_multiple_of(8);
        }
        Ok(())
    }

    fn submit(self: Box<Self>) -> Result<Box<dyn Running>, Error> {
        let common = self.common.clone();
        common.checked(move || self.start())?
    }
}

impl Recorded {
    fn start(mut self) -> Result<Box<dyn Running>, Error> {
        let common = self.common.clone();
        let given = self.given_buffer()?;
        let readback = match self.read {
            0 => None,
            len => {
                let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
                Some(common.create(len, usage, false)?)
            }
        };
        let mut encoder =
            common.device.create_command_encoder(&CommandEncoderDescriptor { label: None });
        let clock = if self.timed && self.launches > 0 { Some(Clock::new(&common)?) } else { None };
        let mut launched = 0;
        for step in &self.steps {
            match step {
                Step::Write { from, to } => {
                    let given = given.as_ref().expect("something was given");
                    copy(&mut encoder, given, *from, to);
                }
                Step::CopyIn { from, to, .. } => copy(&mut encoder, from, 0, to),
                Step::Read { from, to } => {
                    let readback = readback.as_ref().expect("something is read");
                    let (memory, len) = (memory::buffer(&from.memory), words_len(from.len));
                    encoder.copy_buffer_to_buffer(memory, from.at, readback, *to, len);
                }
                Step::Launch { launch, params, table } => {
                    launched += 1;
                    let stamps = clock
                        .as_ref()
                        .and_then(|clock| clock.stamps(launched == 1, launched == self.launches));
                    let given = given.as_ref().expect("parameters were given");
                    record(&common, &mut encoder, launch, given, *params, *table, stamps)?;
                }
            }
        }
        if let Some(clock) = &clock {
            clock.finish(&mut encoder);
        }
        let submission = common.queue.submit([encoder.finish()]);
        for step in &self.steps {
            if let Step::CopyIn { copied, .. } = step {
                copied.set(&submission);
            }
        }
        let (answer, mapped) = mpsc::channel();
        if let Some(readback) = &readback {
            readback.slice(..).map_async(MapMode::Read, move |result| {
                let _ = answer.send(result);
            });
        }
        let done = Arc::new(AtomicBool::new(false));
        let is_done = done.clone();
        common.queue.on_submitted_work_done(move || is_done.store(true, Ordering::Release));
        let reads = std::mem::take(&mut self.reads);
        Ok(Box::new(Submitted { common, submission, readback, reads, mapped, done, clock }))
    }

    fn given_buffer(&self) -> Result<Option<Buffer>, Error> {
        if self.given.is_empty() {
            return Ok(None);
        }
        let usage = BufferUsages::COPY_SRC | BufferUsages::UNIFORM | BufferUsages::STORAGE;
        let len = self.given.len().next_multiple_of(PART);
        let buffer = self.common.create(len as u64, usage, true)?;
        let lost = |error| Error::new(ErrorKind::Lost, error).on(&self.common.name);
        let mut view = buffer.slice(..).get_mapped_range_mut().map_err(lost)?;
        view.slice(..self.given.len()).copy_from_slice(&self.given);
        drop(view);
        buffer.unmap();
        Ok(Some(buffer))
    }
}

/// Copies are of whole words; callers see to it that there is room.
fn copy(encoder: &mut CommandEncoder, from: &Buffer, at: u64, to: &Region) {
    let len = words_len(to.len);
    encoder.copy_buffer_to_buffer(from, at, memory::buffer(&to.memory), to.at, len);
}

fn words_len(len: u64) -> u64 {
    len.next_multiple_of(4)
}

/// A region as it is bound: from an aligned place on, which may be before its start. A binding has at
/// least a row of 16 bytes, also where the region is at the end of its buffer.
fn bound(region: &Region, alignment: u64) -> (u64, u64) {
    let last = region.memory.len().saturating_sub(16);
    let start = region.at.min(last) / alignment * alignment;
    (start, region.at - start)
}

fn binding<'a>(number: u32, buffer: &'a Buffer, at: u64, len: u64) -> BindGroupEntry<'a> {
    let size = NonZeroU64::new(len);
    let binding = BufferBinding { buffer, offset: at, size };
    BindGroupEntry { binding: number, resource: ::wgpu::BindingResource::Buffer(binding) }
}

/// `Params` of `kernels/shared/params.wgsl`.
fn params(launch: &Launch, alignment: u64) -> Vec<u8> {
    let (key, flags) = (launch.mode.key_words(), launch.mode.flags());
    let delta = |region: &Region| bound(region, alignment).1 as u32;
    let words = |region: &Region| delta(region) / 4;
    let (mut input_len, mut table, mut cvs, mut blocks, mut first, mut last) = (0, 0, 0, 0, 0, 0);
    let (count, input, results) = match &launch.stage {
        Stage::Tiles { input, spans, cvs: values, out, .. }
        | Stage::Parents { input, spans, cvs: values, out, .. } => {
            cvs = words(values);
            (spans.len() as u32, delta(input), out)
        }
        Stage::Blobs { input, offsets, count, base, last: end, out, left } => {
            (input_len, table, cvs) = (input.len as u32, words(offsets), words(left));
            (first, last) = (*base, *end);
            (*count, delta(input), out)
        }
        Stage::Xof { nodes, count, out, position, blocks: each } => {
            (first, blocks) = (*position, *each);
            (*count, delta(nodes), out)
        }
    };
    let low_high = |value: u64| [value as u32, (value >> 32) as u32];
    let out = words(results);
    let mut all = key.to_vec();
    all.extend([u32::from(flags), count, input_len, input, input / 4, table, cvs, out]);
    all.extend(low_high(first).into_iter().chain(low_high(last)));
    all.extend([blocks, 0, 0, 0]);
    all.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Records one launch. If results go to the buffer that is read, they take a detour, as a buffer
/// cannot be bound for both.
fn record(
    common: &Common,
    encoder: &mut CommandEncoder,
    launch: &Launch,
    given: &Buffer,
    params: u64,
    table: u64,
    stamps: Option<ComputePassTimestampWrites<'_>>,
) -> Result<(), Error> {
    let (input, out) = match &launch.stage {
        Stage::Tiles { input, out, .. }
        | Stage::Parents { input, out, .. }
        | Stage::Blobs { input, out, .. } => (input, out),
        Stage::Xof { nodes, out, .. } => (nodes, out),
    };
    let (_, before) = bound(out, common.alignment);
    let mut detour = None;
    let also = match &launch.stage {
        Stage::Blobs { offsets, .. } => Arc::ptr_eq(&offsets.memory, &out.memory),
        _ => false,
    };
    if also || Arc::ptr_eq(&input.memory, &out.memory) {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let len = (before + out.len).next_multiple_of(16).max(16);
        let buffer = common.create(len, usage, false)?;
        // Not all of it may be written.
        let size = words_len(out.len);
        encoder.copy_buffer_to_buffer(memory::buffer(&out.memory), out.at, &buffer, before, size);
        detour = Some(buffer);
    }
    let results = match &detour {
        Some(buffer) => binding(5, buffer, 0, buffer.size()),
        None => region(5, out, common.alignment),
    };
    let (pipeline, threads, mut entries) = stage(common, launch, given, table);
    entries.push(binding(0, given, params, 96));
    entries.push(results);
    let group = bind(common, pipeline, &entries);
    let mut pass = encoder
        .begin_compute_pass(&ComputePassDescriptor { label: None, timestamp_writes: stamps });
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(threads.div_ceil(TILE), 1, 1);
    drop(pass);
    if let Some(buffer) = &detour {
        copy(encoder, buffer, before, out);
    }
    Ok(())
}

/// The pipeline of a stage, its threads, and its buffers in addition to the parameters and the results.
fn stage<'a>(
    common: &'a Common,
    launch: &'a Launch,
    given: &'a Buffer,
    table: u64,
) -> (&'a ComputePipeline, u32, Vec<BindGroupEntry<'a>>) {
    let Pipelines { tiles, parents, blobs, xof } = &common.pipelines;
    let region = |number, bytes| region(number, bytes, common.alignment);
    let spans = |spans: &[Span]| binding(3, given, table, (4 * Span::WORDS * spans.len()) as u64);
    match &launch.stage {
        Stage::Tiles { input, spans: list, slots, cvs, .. } => {
            (tiles, *slots, vec![region(1, input), region(2, input), spans(list), region(4, cvs)])
        }
        Stage::Parents { input, spans: list, slots, cvs, .. } => {
            (parents, *slots, vec![region(1, input), spans(list), region(4, cvs)])
        }
        Stage::Blobs { input, offsets, count, left, .. } => {
            let entries =
                vec![region(1, input), region(2, input), region(3, offsets), region(4, left)];
            (blobs, *count, entries)
        }
        Stage::Xof { nodes, count, blocks, .. } => (xof, count * blocks, vec![region(1, nodes)]),
    }
}

/// A region of a buffer, and what is before it to an aligned place, and after it to a whole row.
fn region(number: u32, region: &Region, alignment: u64) -> BindGroupEntry<'_> {
    let (start, before) = bound(region, alignment);
    let buffer = memory::buffer(&region.memory);
    let len = (before + region.len).max(16).next_multiple_of(16).min(buffer.size() - start);
    binding(number, buffer, start, len)
}

fn bind(common: &Common, pipeline: &ComputePipeline, entries: &[BindGroupEntry<'_>]) -> BindGroup {
    common.device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries,
    })
}

/// The device's clock at the start of the first launch and the end of the last.
struct Clock {
    queries: QuerySet,
    resolved: Buffer,
    readable: Buffer,
}

impl Clock {
    fn new(common: &Common) -> Result<Self, Error> {
        let queries = common.device.create_query_set(&QuerySetDescriptor {
            label: None,
            ty: QueryType::Timestamp,
            count: 2,
        });
        let usage = BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC;
        let resolved = common.create(16, usage, false)?;
        let readable = common.create(16, BufferUsages::MAP_READ | BufferUsages::COPY_DST, false)?;
        Ok(Self { queries, resolved, readable })
    }

    fn stamps(&self, is_first: bool, is_last: bool) -> Option<ComputePassTimestampWrites<'_>> {
        (is_first || is_last).then(|| ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: is_first.then_some(0),
            end_of_pass_write_index: is_last.then_some(1),
        })
    }

    fn finish(&self, encoder: &mut CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readable, 0, 16);
    }

    fn time(&self, common: &Common) -> Option<Duration> {
        self.readable.slice(..).map_async(MapMode::Read, |_| ());
        common.wait(None).ok()?;
        let view = self.readable.slice(..).get_mapped_range().ok()?;
        let (start, end) = view.split_at(8);
        let ticks = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let ticks = ticks(end)?.checked_sub(ticks(start)?)?;
        let nanos = ticks as f64 * f64::from(common.queue.get_timestamp_period());
        Some(Duration::from_nanos(nanos as u64))
    }
}

struct Submitted {
    common: Arc<Common>,
    submission: SubmissionIndex,
    readback: Option<Buffer>,
    reads: Vec<std::ops::Range<usize>>,
    mapped: Receiver<Result<(), BufferAsyncError>>,
    done: Arc<AtomicBool>,
    clock: Option<Clock>,
}

impl Running for Submitted {
    fn is_done(&mut self) -> Result<bool, Error> {
        let polled = self.common.device.poll(PollType::Poll);
        polled.map_err(|error| Error::new(ErrorKind::Lost, error).on(&self.common.name))?;
        Ok(self.done.load(Ordering::Acquire))
    }

    fn wait(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        self.common.wait(Some(self.submission.clone()))?;
        let Some(readback) = self.readback.take() else {
            // Nothing, or nothing but empty regions.
            return Ok(vec![Vec::new(); self.reads.len()]);
        };
        let name = &self.common.name;
        memory::mapped(&self.mapped).map_err(|error| error.on(name))?;
        let view = readback.slice(..).get_mapped_range();
        let view = view.map_err(|error| Error::new(ErrorKind::Lost, error).on(name))?;
        Ok(self.reads.iter().map(|range| view[range.clone()].to_vec()).collect())
    }

    fn device_time(&self) -> Option<Duration> {
        self.clock.as_ref()?.time(&self.common)
    }
}
