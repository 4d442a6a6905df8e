#!/usr/bin/env bash
# Our kernels one by one, each against the peers' code for the same instruction set, and our choice
# against theirs: prints both medians and the ratio at many lengths. Nothing else should be running.
#
#   scripts/peers.sh                all of them: avx2 sse41 sse2 portable rscrypto wasm (under Node) unoptimised
#   scripts/peers.sh avx2           only this one
#   scripts/peers.sh outboards      outboards, against bao-tree and bao
#   scripts/peers.sh unoptimised    both as Cargo compiles them for a client's `cargo test`; a ratio of 0.67 is the bar

set -euo pipefail
cd "$(dirname "$0")/../dev/peers"
[[ $# -gt 0 ]] || set -- avx2 sse41 sse2 portable rscrypto wasm unoptimised
target=${CARGO_TARGET_DIR:-$PWD/target}
unset RUSTFLAGS TREEWIDE_KERNEL

for peer in "$@"; do
    options=(--release --locked --quiet --features "$peer" --target-dir "$target/$peer")
    if [[ $peer == unoptimised ]]; then
        cargo build --locked --quiet --target-dir "$target/$peer"
    elif [[ $peer == wasm ]]; then
        RUSTFLAGS=-Ctarget-feature=+simd128 cargo build "${options[@]}" --target wasm32-wasip1
    else
        cargo build "${options[@]}"
    fi
done
echo "$(rustc --version); $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1);" \
    "$(git describe --always --dirty); scripts/peers.sh $*"
for peer in "$@"; do
    if [[ $peer == wasm ]]; then
        node --no-warnings ../../scripts/wasi.mjs "$target/wasm/wasm32-wasip1/release/treewide-peers.wasm"
    elif [[ $peer == unoptimised ]]; then
        "$target/$peer/debug/treewide-peers"
    elif [[ $peer == outboards ]]; then
        "$target/$peer/release/outboards"
    else
        "$target/$peer/release/treewide-peers"
    fi
done
