//! Hashing with the threads of the current rayon pool.
//!
//! The input is cut into leaves, subtrees of equal size. The calling thread and the helpers that
//! have woken up take the next leaf until none is left, and reduce it to [`WIDE`] nodes; then the
//! calling thread puts the nodes of all leaves into the tree.
//!
//! ```text
//! input    | begun chunk | leaf 0 | leaf 1 | ... | leaf n-1 | rest |
//! nodes                   32 CVs   32 CVs         32 CVs
//! ```
//!
//! Where the leaves come from is a [`Source`]: memory here, files in the module `file`.

mod crew;
#[cfg(target_os = "linux")]
mod load;
#[cfg(not(target_os = "linux"))]
mod load {
    pub(super) fn is_every_cpu_taken(_now: u64) -> bool {
        false
    }
}

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::kernel::running;
use crate::oneshot::hash;
use crate::profile;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue};
use crate::tree::{self, WIDE};
use crate::xof::OutputReader;
pub(crate) use crew::Wake;

/// Bytes below which the calling thread does all. Chosen by `results/zen5-2vcpu/threads.txt`, as are
/// the next two.
const CROSSOVER: usize = 256 * 1024;

/// [`CROSSOVER`], or what the profile says.
fn crossover() -> usize {
    profile::current().parallel_from.unwrap_or(CROSSOVER)
}

/// The same if the pool is asleep: waking a thread costs the caller 20 microseconds there, and the
/// thread as many until it is at work.
const CROSSOVER_ASLEEP: usize = 2 << 20;

/// The pool counts as asleep so many nanoseconds after one of its threads was last seen: about as long
/// as they look for more work. Calls that follow each other sooner wake it, whatever their length.
const AWAKE: u64 = 50_000;

/// Nanoseconds: half of the shortest pause after waking that did not pay.
const PAUSE: u64 = 1_000_000;

/// Bytes of the smallest and of the largest leaf in memory.
pub(crate) const LEAVES: [usize; 2] = [2 * WIDE * CHUNK_LEN, 1 << 20];

/// Leaves that each thread should find at least, and less than twice as many: so that none waits
/// long for another at the end, and few nodes are left for the calling thread. Chosen by
/// `results/zen5-2vcpu/threads.txt`, where eight took a tenth more for 768 KiB to 2 MiB.
const LEAVES_PER_THREAD: usize = 3;

/// Bytes from which on a sleeping pool is woken whatever came of it before: there is time enough for
/// the system to give its threads a CPU, and little to lose.
pub(crate) const SURE: usize = 16 << 20;

/// The same where others keep every CPU busy. The caller may wait for a helper that waits for a slice of
/// the scheduler, milliseconds; and two threads get more of the CPUs than one.
const SURE_AMONG_OTHERS: usize = 128 << 20;

/// The threads that may work together, the calling one included: those of the current pool, but no
/// more than there are cores. Starts the global pool if there are several cores and the caller is
/// in no pool.
pub(crate) fn threads() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    static GLOBAL: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    if cores == 1 {
        return 1;
    }
    let pool = if rayon::current_thread_index().is_some() {
        rayon::current_num_threads()
    } else {
        *GLOBAL.get_or_init(|| match global_pool(cores).build_global() {
            // The system gives us no threads: the calling one has to do.
            Err(error) if std::error::Error::source(&error).is_some() => 1,
            // An error without a source says that the program has built it already.
            _ => rayon::current_num_threads(),
        })
    };
    pool.min(cores)
}

/// The threads that take part in hashing so many bytes, where the caller allows several.
pub(crate) fn team(bytes: u64) -> usize {
    if bytes < CROSSOVER as u64 { 1 } else { threads().min((bytes / LEAVES[0] as u64) as usize) }
}

/// Nanoseconds since the first question.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// A moment, by [`now`]; zero is never.
struct Moment(AtomicU64);

impl Moment {
    const fn never() -> Self {
        Self(AtomicU64::new(0))
    }

    fn is_now(&self) {
        self.0.store(now().max(1), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn was_just(&self, now: u64) -> bool {
        let then = self.get();
        then > 0 && now.saturating_sub(then) < AWAKE
    }
}

/// When the last call ended that several threads could have helped with.
static LAST_CALL: Moment = Moment::never();

/// When a helper was last awake.
static LAST_HELP: Moment = Moment::never();

/// Whether waking a pool that sleeps has paid lately.
///
/// There are systems that put a thread that wakes up on the CPU of the one that woke it, while the
/// next CPU idles (`results/zen5-2vcpu/threads.txt`); [`crew`] does about that what it can, which
/// takes some time, and more of it where other processes want the CPU. So after waking that did not
/// pay it is not tried for 2 ms, and for twice as long each time, up to a quarter of a second, unless for
/// inputs twice as long: what a trial may cost, a slice of another process, is little of that.
struct Waking {
    /// How often in a row it has not paid, and for how many bytes.
    failed: AtomicU64,
    failed_for: AtomicU64,
    /// When it may be tried again for as many.
    next: AtomicU64,
    /// When it was last tried for a short call.
    short: AtomicU64,
}

static WAKING: Waking = Waking::new();

/// The same for calls in a row, where it pays in the next ones: it must only cost no slice.
static WAKING_IN_A_ROW: Waking = Waking::new();

impl Waking {
    const fn new() -> Self {
        let [failed, failed_for, next, short] = [const { AtomicU64::new(0) }; 4];
        Self { failed, failed_for, next, short }
    }

    fn is_worth_a_try(&self, bytes: usize, now: u64) -> bool {
        // Twice as many may pay.
        let failed_for = self.failed_for.load(Ordering::Relaxed);
        bytes as u64 / 2 > failed_for || now >= self.next.load(Ordering::Relaxed)
    }

    fn was_tried(&self, bytes: usize, has_paid: bool, now: u64) {
        let most = self.failed_for.load(Ordering::Relaxed);
        let failed = self.failed.load(Ordering::Relaxed);
        let (failed, failed_for, pause) = if !has_paid {
            let failed = (failed + 1).min(8);
            (failed, most.max(bytes as u64), PAUSE << failed)
        } else if bytes as u64 <= most {
            // It may be luck.
            let failed = failed / 2;
            (
                failed,
                if failed > 0 { most } else { 0 },
                if failed > 0 { PAUSE << failed } else { 0 },
            )
        } else {
            return;
        };
        self.failed.store(failed, Ordering::Relaxed);
        self.failed_for.store(failed_for, Ordering::Relaxed);
        self.next.store(now + pause, Ordering::Relaxed);
    }

    /// For calls in a row that are too short for it to pay at once: now and then, less often if nobody
    /// came the last time.
    fn is_due(&self, last_help: u64, now: u64) -> bool {
        let last = self.short.load(Ordering::Relaxed);
        let is_due = now > last + if last_help > last { PAUSE / 5 } else { 2 * PAUSE };
        if is_due {
            self.short.store(now, Ordering::Relaxed);
        }
        is_due
    }
}

/// Whether several threads were faster than one would have been: as many bytes, each in the time that
/// those of the fastest part took.
pub(crate) struct Trial {
    wake: Wake,
    begun: Instant,
    bytes: AtomicU64,
    /// Picoseconds for a byte.
    fastest: AtomicU64,
}

impl Trial {
    fn begin(wake: Wake) -> Self {
        let [bytes, fastest] = [0, u64::MAX].map(AtomicU64::new);
        Self { wake, begun: Instant::now(), bytes, fastest }
    }

    /// One part is done, by one thread.
    fn note(&self, begun: Instant, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let picoseconds = begun.elapsed().as_nanos() as u64 * 1000 / (bytes as u64).max(1);
        self.fastest.fetch_min(picoseconds, Ordering::Relaxed);
    }

    /// The nanoseconds that it took, and that one thread would have taken; `None` if nothing was shared
    /// out.
    fn times(&self) -> Option<[u64; 2]> {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let one = u128::from(bytes) * u128::from(self.fastest.load(Ordering::Relaxed)) / 1000;
        (bytes > 0).then(|| [self.begun.elapsed().as_nanos() as u64, one as u64])
    }
}

/// Whom a call with such a trial wakes: without one, nobody.
fn wake(trial: Option<&Trial>) -> Wake {
    trial.map_or(Wake::Nobody, |trial| trial.wake)
}

/// Has `work` done with the threads that are worth it for so many bytes in memory. If it is given a
/// trial, it notes its parts there.
pub(crate) fn by_team<T>(bytes: usize, work: impl FnOnce(usize, Option<&Trial>) -> T) -> T {
    let now = now();
    let is_room = || bytes >= SURE_AMONG_OTHERS || !load::is_every_cpu_taken(now);
    let mut is_in_a_row = false;
    let (threads, trial) = match bytes {
        _ if LAST_HELP.was_just(now) => (threads(), None),
        CROSSOVER_ASLEEP.. if WAKING.is_worth_a_try(bytes, now) && is_room() => {
            (threads(), Some(Trial::begin(Wake::ForThis)))
        }
        _ if LAST_CALL.was_just(now)
            && WAKING_IN_A_ROW.is_worth_a_try(0, now)
            && WAKING_IN_A_ROW.is_due(LAST_HELP.get(), now)
            && is_room() =>
        {
            is_in_a_row = true;
            (threads(), Some(Trial::begin(Wake::ForLater)))
        }
        SURE.. if is_room() => (threads(), None),
        _ => (1, None),
    };
    let done = work(threads, trial.as_ref());
    if let Some([all, one]) = trial.and_then(|trial| trial.times()) {
        let now = self::now();
        if is_in_a_row {
            WAKING_IN_A_ROW.was_tried(0, all < one + PAUSE / 2, now);
        } else {
            WAKING.was_tried(bytes, all < one, now);
        }
    }
    LAST_CALL.is_now();
    done
}

/// Has every part done by one of up to `threads` threads, which take them in order; `work` tells how
/// many bytes a part had.
pub(crate) fn each<T>(
    threads: usize,
    trial: Option<&Trial>,
    parts: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> usize + Sync,
) {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    each_of(threads, trial, next, work);
}

/// The same of the parts that `next` gives, which threads call at the same time.
pub(crate) fn each_of<T>(
    threads: usize,
    trial: Option<&Trial>,
    next: impl Fn() -> Option<T> + Sync,
    work: impl Fn(T) -> usize + Sync,
) {
    crew::together(threads, wake(trial), &|| {
        while let Some(part) = next() {
            let begun = trial.map(|_| Instant::now());
            let bytes = work(part);
            if let Some((trial, begun)) = trial.zip(begun) {
                trial.note(begun, bytes);
            }
        }
    });
}

/// Bytes of the leaves into which so many are cut for so many threads: a power of two.
fn leaf(bytes: usize, threads: usize) -> usize {
    let [least, most] = LEAVES;
    1 << (bytes / (threads * LEAVES_PER_THREAD)).clamp(least, most).ilog2()
}

/// As rayon would build it, but not with a thread for each unit of a `RAYON_NUM_THREADS` beyond
/// reason: 65,535 of them keep a machine busy for minutes.
fn global_pool(cores: usize) -> rayon::ThreadPoolBuilder {
    const MOST_PER_CORE: usize = 8;
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
    let most = MOST_PER_CORE * cores;
    let builder = rayon::ThreadPoolBuilder::new();
    // Zero stands for as many as rayon likes.
    builder.num_threads(if asked.is_some_and(|asked: usize| asked > most) { most } else { 0 })
}

/// Where leaves come from. Each of the threads that hash them calls [`next`](Self::next) until
/// nothing is left.
pub(crate) trait Source: Sync {
    /// What a thread keeps from leaf to leaf, such as a buffer.
    type Scratch;
    /// Why a leaf cannot be had.
    type Error: Send;

    fn scratch(&self) -> Self::Scratch;

    /// The next leaf that nobody has taken and its number; the numbers of all leaves are those from
    /// 0 on. After an error there may be more.
    fn next<'a>(
        &'a self,
        scratch: &'a mut Self::Scratch,
    ) -> Result<Option<(usize, &'a [u8])>, Self::Error>;
}

/// Appends up to `most` leaves of `size` bytes each, as many as `source` has, on up to `threads`
/// threads, woken as `wake` says. The hasher must be at a multiple of `size`, a power of two of
/// at least [`WIDE`] chunks.
///
/// # Errors
/// The first one of `source`; then nothing is appended, and each thread ends with the leaf that it has.
pub(crate) fn append<S: Source>(
    hasher: &mut Hasher,
    source: &S,
    size: usize,
    most: usize,
    threads: usize,
    wake: Wake,
) -> Result<(), S::Error> {
    let kernel = running();
    let first = hasher.first_chunk + hasher.count() / CHUNK_LEN as u64;
    let chunks = size / CHUNK_LEN;
    debug_assert!(size.is_power_of_two() && chunks >= WIDE);
    debug_assert_eq!(hasher.count() % size as u64, 0);
    struct Done<E> {
        /// Room for the left sibling, then the nodes of all leaves.
        nodes: Vec<ChainingValue>,
        leaves: usize,
        error: Option<E>,
    }
    let nodes = vec![[0; 32]; 1 + most * WIDE];
    let done = Mutex::new(Done { nodes, leaves: 0, error: None });
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    crew::together(threads.min(most), wake, &|| {
        let mut scratch = source.scratch();
        loop {
            match source.next(&mut scratch) {
                Ok(None) => return,
                Ok(Some((index, leaf))) => {
                    let mut nodes = [[0; 32]; WIDE];
                    let counter = first + (index * chunks) as u64;
                    tree::subtree(kernel, leaf, counter, &hasher.mode, &mut nodes);
                    let mut done = lock();
                    if done.error.is_some() {
                        return;
                    }
                    done.nodes[1 + index * WIDE..][..WIDE].copy_from_slice(&nodes);
                    done.leaves += 1;
                }
                Err(error) => {
                    lock().error.get_or_insert(error);
                    return;
                }
            }
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = done.error {
        return Err(error);
    }
    let mut nodes = done.nodes;
    hasher.append_nodes(&mut nodes, done.leaves * WIDE, (chunks / WIDE).ilog2());
    Ok(())
}

/// Leaves of an input in memory.
struct Memory<'a> {
    input: &'a [u8],
    size: usize,
    taken: AtomicUsize,
    trial: Option<&'a Trial>,
}

impl Source for Memory<'_> {
    /// When the leaf at hand was begun, if that is of interest.
    type Scratch = Option<Instant>;
    type Error = Infallible;

    fn scratch(&self) -> Option<Instant> {
        None
    }

    fn next<'a>(
        &'a self,
        begun: &'a mut Option<Instant>,
    ) -> Result<Option<(usize, &'a [u8])>, Infallible> {
        if let Some(trial) = self.trial {
            if let Some(begun) = begun.take() {
                trial.note(begun, self.size);
            }
            *begun = Some(Instant::now());
        }
        let index = self.taken.fetch_add(1, Ordering::Relaxed);
        let leaf = self.input.get(index * self.size..(index + 1) * self.size);
        Ok(leaf.map(|leaf| (index, leaf)))
    }
}

/// [`hash`](crate::hash()) with the threads of the current rayon pool, where that is faster.
///
/// Short inputs are hashed by the calling thread alone, and no pool is started for them; nor is one
/// woken for inputs below 2 MiB that come now and then, for those below 16 MiB where waking it was of
/// no use the last times, and for those below 128 MiB while others keep every CPU busy, as Linux tells
/// (`/proc/loadavg`), whatever their priority and whichever CPUs they may use.
/// The calling thread always takes part, and never waits for one that has not woken up.
pub fn hash_parallel(input: &[u8]) -> Hash {
    if input.len() < crossover() {
        return hash(input);
    }
    by_team(input.len(), |threads, trial| match threads {
        1 => hash(input),
        _ => Hasher::new().update_leaves(input, threads, trial).finalize(),
    })
}

impl Hasher {
    /// Appends `input` with the threads of the current rayon pool, where that is faster than
    /// [`update`](Self::update). See [`hash_parallel`].
    ///
    /// # Panics
    /// As [`update`](Self::update).
    #[inline]
    pub fn update_rayon(&mut self, input: &[u8]) -> &mut Self {
        if input.len() < crossover() { self.update(input) } else { self.update_long(input) }
    }

    #[inline(never)]
    fn update_long(&mut self, input: &[u8]) -> &mut Self {
        by_team(input.len(), |threads, trial| match threads {
            1 => self.update(input),
            _ => self.update_leaves(input, threads, trial),
        })
    }

    fn update_leaves(&mut self, input: &[u8], threads: usize, trial: Option<&Trial>) -> &mut Self {
        self.check_room(input.len() as u64);
        let size = leaf(input.len(), if trial.is_some() { 2 * threads } else { threads });
        // Up to where a leaf may begin.
        let before = (size - (self.count() % size as u64) as usize) % size;
        let (begun, input) = input.split_at(before.min(input.len()));
        self.update(begun);
        if input.len() < 2 * size {
            return self.update(input);
        }
        let (whole, rest) = input.split_at(input.len() - input.len() % size);
        let source = Memory { input: whole, size, taken: AtomicUsize::new(0), trial };
        let Ok(()) = append(self, &source, size, whole.len() / size, threads, wake(trial));
        self.update(rest)
    }
}

impl OutputReader {
    /// [`fill`](Self::fill) with the threads of the current rayon pool, where that is faster: for
    /// long outputs, by the same rule as [`Hasher::update_rayon`].
    ///
    /// ```
    /// let mut output = vec![0; 1 << 20];
    /// treewide::Hasher::new().update(b"seed").finalize_xof().fill_rayon(&mut output);
    /// ```
    pub fn fill_rayon(&mut self, buf: &mut [u8]) {
        if buf.len() < crossover() {
            return self.fill(buf);
        }
        let len = buf.len();
        by_team(len, |threads, trial| match threads {
            1 => self.write(0, buf),
            _ => self.write_leaves(buf, threads, trial),
        });
        self.advance(len);
    }

    fn write_leaves(&self, buf: &mut [u8], threads: usize, trial: Option<&Trial>) {
        let size = leaf(buf.len(), threads);
        each(threads, trial, (0..).zip(buf.chunks_mut(size)), |(index, leaf)| {
            self.write(index * (size / BLOCK_LEN) as u64, leaf);
            leaf.len()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waking_that_does_not_pay_pauses_longer_each_time() {
        let waking = Waking::new();
        let (short, long) = (2 << 20, 4 << 20);
        assert!(waking.is_worth_a_try(short, 0));
        waking.was_tried(short, false, 0);
        assert!(!waking.is_worth_a_try(short, 2 * PAUSE - 1));
        assert!(waking.is_worth_a_try(short, 2 * PAUSE));
        assert!(waking.is_worth_a_try(long + 2, 0), "more than twice as long");
        waking.was_tried(short, false, 0);
        assert!(!waking.is_worth_a_try(short, 4 * PAUSE - 1));
        // What pays for more says nothing of less.
        waking.was_tried(long, true, 0);
        assert!(!waking.is_worth_a_try(short, 4 * PAUSE - 1));
        for _ in 0..100 {
            waking.was_tried(long, false, 0);
        }
        assert!(!waking.is_worth_a_try(long, 255 * PAUSE));
        assert!(waking.is_worth_a_try(long, 256 * PAUSE));
        for pause in [16, 4, 2, 0] {
            waking.was_tried(short, true, 0);
            assert!(waking.is_worth_a_try(short, pause * PAUSE));
            assert!(pause == 0 || !waking.is_worth_a_try(short, pause * PAUSE - 1));
        }
    }

    #[test]
    fn short_calls_in_a_row_wake_now_and_then() {
        let waking = Waking::new();
        let first = 10 * PAUSE;
        assert!(waking.is_due(0, first));
        assert!(!waking.is_due(0, first + 2 * PAUSE));
        assert!(!waking.is_due(first + 1, first + PAUSE / 5));
        assert!(waking.is_due(first + 1, first + PAUSE / 5 + 1));
    }
}
