//! `auto` (`update_rayon`) against one thread and against `blake3`'s `update_rayon`, at powers of
//! two and 3 * 2^k from 1 B to 1 GiB, on an idle machine or beside programs that keep all cores busy.
//!
//! ```text
//! cargo bench -p treewide --features rayon --bench threads -- [busy] [apart] [MOST]
//! ```
//!
//! The sides take turns in one process; a row's figures are medians over the turns, its ratios the
//! medians of the turn-by-turn ratios. `both` is what the machine allows in the same turn: two threads
//! that hash without knowing of each other, by one alone (2 where the cores share nothing; virtual
//! ones may be one core's two threads, and change that by the second). `busy` starts one process per core
//! that never sleeps; `apart` rests a millisecond before each call. MOST is the largest length, 1 GiB without it.

use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

fn time(calls: usize, f: &dyn Fn()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        f();
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// As `time`, with a millisecond of rest before each call: every other thread sleeps by then.
fn time_apart(calls: usize, f: &dyn Fn()) -> f64 {
    let mut times = vec![];
    for _ in 0..calls.min(100) {
        std::thread::sleep(Duration::from_millis(1));
        times.push(time(1, f));
    }
    median(times)
}

/// NaN if there are none.
fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds per call when two threads make such calls at the same time, by that of one thread
/// alone: 2 is twice the work in the same time.
fn both(calls: usize, one: f64, f: &(dyn Fn() + Sync)) -> f64 {
    let barrier = Barrier::new(2);
    let run = || {
        barrier.wait();
        time(calls, &|| f())
    };
    let (a, b) = std::thread::scope(|scope| {
        let other = scope.spawn(run);
        (run(), other.join().expect("it does not panic"))
    });
    one / a + one / b
}

/// Programs that keep the cores busy while they are held.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let program = std::env::current_exe().expect("we have a name");
        let start = |_| Command::new(&program).arg("spin").stdin(Stdio::null()).spawn();
        Self((0..cores).map(|i| start(i).expect("we can be started")).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if words.iter().any(|word| word == "spin") {
        loop {
            std::hint::spin_loop();
        }
    }
    let is_busy = words.iter().any(|word| word == "busy");
    let is_apart = words.iter().any(|word| word == "apart");
    let time = if is_apart { time_apart } else { time };
    let most = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1 << 30);
    let _busy = is_busy.then(Busy::start);
    let machine = if is_busy { "every core kept busy" } else { "idle machine" };
    let rest = if is_apart { ", a millisecond of rest before each call" } else { "" };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("kernel {}, {cores} cores, {machine}{rest}", treewide::kernel::detected().name());
    println!(
        "bytes, one thread ns, auto ns, one/auto, blake3 ns, blake3/auto, both, one/auto by both"
    );
    let input: Vec<u8> = (0..most + 4096).map(|i| (i % 251) as u8).collect();
    let input = &input[input.as_ptr().align_offset(4096)..];
    let mut lens: Vec<usize> = (0..=30).flat_map(|k| [1 << k, 3 << k]).collect();
    lens.sort_unstable();
    let (mut lowest, mut short) = (f64::MAX, vec![]);
    for len in lens.into_iter().filter(|len| *len <= most) {
        let data = &input[..len];
        let one = || {
            black_box(treewide::Hasher::new().update(black_box(data)).finalize());
        };
        let auto = || {
            black_box(treewide::Hasher::new().update_rayon(black_box(data)).finalize());
        };
        let theirs = || {
            black_box(blake3::Hasher::new().update_rayon(black_box(data)).finalize());
        };
        // A turn of half a millisecond idle; busy, of several of the scheduler's slices.
        let work = if is_busy { 20_000_000 } else { 500_000 };
        let calls = (work / (60 + len / 8)).max(1);
        let turns = if is_busy {
            (200_000_000 / (calls * (60 + len / 8))).clamp(5, 9)
        } else {
            (60_000_000 / (calls * (60 + len / 8))).clamp(5, 41)
        };
        let sides: [&dyn Fn(); 3] = [&one, &auto, &theirs];
        let mut times = [vec![], vec![], vec![]];
        let mut allowed = vec![];
        for turn in 0..turns {
            for side in 0..3 {
                let side = (side + turn) % 3;
                times[side].push(time(calls, sides[side]));
            }
            if !is_busy {
                allowed.push(both(calls, times[0][turn], &one));
            }
        }
        let ratios = |side: usize| times[side].iter().zip(&times[1]).map(|(a, b)| a / b);
        let gain = median(ratios(0).collect());
        let theirs = median(ratios(2).collect());
        // How much of what the machine allowed in the same turn.
        let share = median(ratios(0).zip(&allowed).map(|(gain, both)| gain / both).collect());
        let both = median(allowed);
        let [one_ns, auto_ns, blake3_ns] = times.map(median);
        lowest = f64::min(lowest, gain);
        let mut verdict = String::new();
        if gain < 0.97 {
            verdict += "  BELOW 0.97 OF ONE THREAD";
        }
        if !is_busy && len >= 1 << 20 && gain < 1.6 && share < 0.8 {
            verdict += "  BELOW 1.6 OF ONE THREAD AND 0.8 OF BOTH";
        }
        if !is_busy && (256 << 10..=16 << 20).contains(&len) && theirs < 1.5 {
            verdict += "  BELOW 1.5 OF BLAKE3";
        }
        if !verdict.is_empty() {
            short.push(len);
        }
        println!(
            "{len:>10} {one_ns:>12.0} {auto_ns:>12.0} {gain:>6.2} {blake3_ns:>12.0} {theirs:>6.2} \
             {both:>6.2} {share:>6.2}{verdict}"
        );
    }
    println!("lowest {lowest:.2}; {} below a bar: {short:?}", short.len());
}
