#!/usr/bin/env bash
# What a program pays that calls the library, next to `blake3`: prints the table "Costs" of docs/performance.md. Times of builds
# are processor time, so that other programs disturb them little. It takes about four minutes on two CPUs.

set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")/costs
unset CARGO_TARGET_DIR RUSTFLAGS
rm -rf "$folder"

# A crate with the programs `plain`, `hello` and `pays`; the first argument is the library under the name `lib`, as Cargo.toml has it.
crate() {
    mkdir -p "$1/src/bin"
    printf '[workspace]\n[package]\nname = "pays"\nedition = "2024"\n[profile.release]\nstrip = true\n[dependencies]\nlib = %s\n' \
        "$2" >"$1/Cargo.toml"
    echo 'fn main() { println!("{:?}", std::env::args()); }' >"$1/src/bin/plain.rs"
    echo 'fn main() { println!("{:?}", lib::hash(std::env::args().next().unwrap().as_bytes())); }' >"$1/src/bin/hello.rs"
    cat >"$1/src/main.rs" <<'RUST'
use std::hint::black_box;
use std::time::Instant;

const ROOM: usize = 1 << 19;
const PAINT: u8 = 0xa5;

#[inline(never)]
fn paint() {
    black_box(&mut [PAINT; ROOM]);
}

/// How far down the paint is gone. No array of its own, as a function that has one writes to each of its pages.
#[inline(never)]
fn depth() -> usize {
    let here = black_box(&PAINT) as *const u8;
    let here = black_box(&here) as *const _ as *const u8;
    // SAFETY: `paint` wrote this part of the stack.
    let is_gone = |at: &usize| unsafe { here.wrapping_sub(*at).read_volatile() } != PAINT;
    (1..ROOM - 8192).rev().find(is_gone).unwrap_or(0)
}

fn stack(call: impl Fn()) -> usize {
    call(); // what is learned once
    paint();
    call();
    depth()
}

fn nanoseconds(call: impl Fn()) -> f64 {
    let mut turns = [0.0; 201];
    for turn in &mut turns {
        let start = Instant::now();
        (0..100).for_each(|_| call());
        *turn = start.elapsed().as_nanos() as f64 / 100.0;
    }
    turns.sort_by(f64::total_cmp);
    turns[100]
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) / 1024
}

fn main() {
    let data = vec![7; 1 << 20];
    let out = std::cell::RefCell::new(vec![0; 1 << 16]);
    let fill = || lib::Hasher::new().update(&data[..100]).finalize_xof().fill(&mut out.borrow_mut());
    let stacks = [
        stack(|| _ = black_box(lib::hash(&data))),
        stack(|| _ = black_box(lib::Hasher::new().update(&data).finalize())),
        stack(fill),
    ];
    println!("stack of a call, KiB|{:.1}", stacks.into_iter().max().unwrap() as f64 / 1024.0);
    let mut fed = lib::Hasher::new();
    data[..100_000].chunks(64).for_each(|piece| _ = fed.update(piece));
    let again = nanoseconds(|| _ = black_box(black_box(&fed).clone().update(b"more").finalize()));
    println!("clone of a hasher, 4 bytes, digest; again and again, ns|{again:.0}");
    println!("64 KiB of extended output, µs|{:.1}", nanoseconds(fill) / 1000.0);
    let before = resident();
    let hashers: Vec<_> = (0..10_000)
        .map(|_| {
            let mut hasher = lib::Hasher::new();
            data[..63 << 10].chunks(1 << 10).for_each(|piece| _ = hasher.update(piece));
            hasher
        })
        .collect();
    println!("10,000 hashers after 63 KiB by 1 KiB, MiB|{}", resident() - before);
    drop(hashers);
}
RUST
    (cd "$1" && cargo generate-lockfile -q --offline && cargo fetch -q --locked)
}

# Seconds of CPU of a build of the library.
build() {
    local TIMEFORMAT='%U %S'
    { time cargo build -q --locked --offline --target-dir "$folder/built" -p "${PWD##*/}" "$@" 2>&3; } 3>&2 2>&1 |
        awk '{ printf "%.1f\n", $1 + $2 }'
    rm -rf "$folder/built"
}

# What a library costs: lines of NAME|VALUE.
measure() {
    cd "$folder/$1"
    cargo build -q --release --locked --offline --bins
    ./target/release/pays
    echo "a program grows by, KB|$((($(stat -c %s target/release/hello) - $(stat -c %s target/release/plain)) / 1000))"
    for level in z s 1; do
        echo "64 KiB of extended output at opt-level $level, µs|$(
            CARGO_PROFILE_RELEASE_OPT_LEVEL=$level cargo run -q --release --locked --offline --target-dir "target/$level" --bin pays |
                sed -n 's/^64 KiB.*|//p'
        )"
    done
    echo "release build, s of CPU|$(build --release)"
    echo "build without optimisation, s of CPU|$(build)"
}

crate "$folder/treewide" "{ package = \"treewide\", path = \"$PWD/crates/treewide\" }"
crate "$folder/blake3" '{ package = "blake3", version = "1.8" }'
echo "$(git describe --always --dirty), $(rustc --version), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
echo
printf '| | treewide | blake3 |\n|---|---:|---:|\n'
(measure treewide) >"$folder/ours" && (measure blake3) >"$folder/theirs"
paste -d '|' "$folder/ours" "$folder/theirs" | awk -F '|' '{ printf "| %s | %s | %s |\n", $1, $2, $4 }'
