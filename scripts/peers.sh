#!/usr/bin/env bash
# Our kernels one by one, each against the peers' code for the same instruction set, and our choice
# against theirs: prints medians, ratios and verdicts at many lengths. Nothing else should be running.
#
#   scripts/peers.sh                all of them: avx2 sse41 sse2 portable rscrypto (by nightly) wasm (under Node) unoptimised
#   scripts/peers.sh avx2           only this one
#   scripts/peers.sh streams        short pieces of input and of output; streams-avx2 with the kernel for AVX2
#   scripts/peers.sh operations     all that both libraries do under one name: prints the rows below 1.00; the bar is 0.98
#   scripts/peers.sh operations-busy   the same on one CPU while another program works on the next, often the same core
#   scripts/peers.sh unoptimised    both as Cargo compiles them for a client's `cargo test`; a ratio of 0.67 is the bar
#
# The programs print samples. `treewide-bench report` judges them, and its exit code is that of this script: 1 if a bar is
# short, 3 if a bar is inconclusive.

set -euo pipefail
# As in the packages: optimised across crates.
export CARGO_PROFILE_RELEASE_LTO=thin
cd "$(dirname "$0")/../dev/peers"
[[ $# -gt 0 ]] || set -- avx2 sse41 sse2 portable rscrypto wasm unoptimised
target=${CARGO_TARGET_DIR:-$PWD/target}
unset RUSTFLAGS TREEWIDE_KERNEL

for peer in "$@"; do
    # Streams are measured by the program of `avx2`, and by one without features.
    features=${peer#streams} features=${features#-} features=${features%-busy}
    options=(--release --locked --quiet --features "$features" --target-dir "$target/${peer%-busy}")
    if [[ $peer == unoptimised ]]; then
        cargo build --locked --quiet --target-dir "$target/$peer"
    elif [[ $peer == wasm ]]; then
        RUSTFLAGS=-Ctarget-feature=+simd128 cargo build "${options[@]}" --target wasm32-wasip1
    else
        # The Rust that rscrypto needs is not stable yet.
        toolchain=()
        [[ $peer != rscrypto ]] || toolchain=(+nightly)
        cargo "${toolchain[@]}" build "${options[@]}"
    fi
done
(cd ../.. && cargo build --release --locked --quiet -p treewide-bench)
bench=$(realpath "${CARGO_TARGET_DIR:-../../target}/release/treewide-bench")
worst=0
for peer in "$@"; do
    case $peer in
    wasm) program=(node --no-warnings ../../scripts/wasi.mjs "$target/wasm/wasm32-wasip1/release/treewide-peers.wasm") ;;
    unoptimised) program=("$target/$peer/debug/treewide-peers") ;;
    operations) program=("$target/$peer/release/treewide-peers" operations) ;;
    operations-busy)
        program=(taskset -c 0 "$target/operations/release/treewide-peers" operations)
        exec 9> >(exec taskset -c 1 "$bench" spin) # until 9 is closed
        ;;
    streams*) program=("$target/$peer/release/treewide-peers" streams) ;;
    *) program=("$target/$peer/release/treewide-peers") ;;
    esac
    code=0 only=()
    [[ $peer != operations* ]] || only=(--below 1)
    {
        printf '{"about":"%s; %s; %s; scripts/peers.sh %s"}\n' "$(rustc --version)" \
            "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" "$(git describe --always --dirty)" "$peer"
        "${program[@]}"
    } | "$bench" report "${only[@]}" - || code=$?
    exec 9>&-
    ((code == 0 || code == 1 || code == 3)) || exit "$code"
    ((code == 0 || worst == 1)) || worst=$code
done
exit "$worst"
