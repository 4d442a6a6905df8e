#!/usr/bin/env bash
# What is too slow, or needs too much, for scripts/test.sh: other instruction sets under emulators,
# Miri, sanitizers, WebAssembly, models of CPUs, what is released for Python, and fuzzing.
#
#   scripts/slow.sh                everything, one minute for each fuzz target
#   scripts/slow.sh -t 600         ten minutes for each
#   scripts/slow.sh WORD...        only the sections that have one of these words in their names; one that is in no
#                                  name is an error, and all names are shown
#
# Unlike test.sh it installs nothing, except for Python and Swift, in target/: what lacks something
# is SKIPPED and says what. All of it needs rustup with nightly (components miri, rust-src), the targets named below, cargo-fuzz, Node, and
# Debian's qemu-user, and gcc-ARCH-linux-gnu for each emulated ARCH.
# The output of each section is in target/slow-logs/.

set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/sections.sh

# rustc's architecture, qemu's, Debian's, and further options of the compiler and the emulator.
readonly EMULATED=(
    "aarch64 aarch64 aarch64 - -"
    "s390x s390x s390x - -"
    "s390x s390x s390x -Ctarget-cpu=z13 -"
    "powerpc64le ppc64le powerpc64le - -"
    "riscv64gc riscv64 riscv64 - -"
    "riscv64gc riscv64 riscv64 -Ctarget-feature=+v rv64,v=true,vext_spec=v1.0"
)
readonly MODELS=(qemu64 Nehalem SandyBridge Haswell EPYC-Rome)
# Little and big endian, neither with instructions that Miri would have to know.
readonly INTERPRETED=(riscv64gc-unknown-linux-gnu s390x-unknown-linux-gnu)
readonly HOST=x86_64-unknown-linux-gnu

seconds_each=60
if [[ ${1:-} == -t ]]; then
    seconds_each=$2
    shift 2
fi
words=("$@")
skips=()
target=${CARGO_TARGET_DIR:-$PWD/target}
logs=$target/slow-logs
unset RUSTFLAGS TREEWIDE_KERNEL TREEWIDE_TEST_SCALE
export CARGO_TERM_COLOR=never

need_target() {
    [[ -d $(rustc "+$1" --print sysroot)/lib/rustlib/$2/lib ]] || cannot_run "$1 has no target $2"
}

need_nightly() {
    rustup run nightly rustc --version || cannot_run "there is no nightly toolchain"
    local component
    for component in "$@"; do
        rustup component list --toolchain nightly --installed | grep "^$component" >/dev/null ||
            cannot_run "nightly has no $component"
    done
}

tests() {
    # Models of CPUs, and what memory is taken, are for programs as they are: a sanitizer changes
    # them, and keeps what they give back.
    step cargo "$@" -- --show-output --skip models_of_cpus --skip memory_is_bounded "${skips[@]}"
}

emulated() {
    local arch=$1 qemu=qemu-$2 gcc=$3-linux-gnu-gcc flags=$4 cpu=$5
    [[ $flags != - ]] || flags=
    local triple=$arch-unknown-linux-gnu
    local name=${triple//-/_}
    need "$qemu" "$gcc"
    need_target stable "$triple"
    # Children that tests start find the emulator's settings in variables.
    [[ $cpu == - ]] || export QEMU_CPU=$cpu
    export "CARGO_TARGET_${name^^}_LINKER=$gcc" "CARGO_TARGET_${name^^}_RUNNER=$qemu" "CC_$name=$gcc"
    export "CARGO_TARGET_${name^^}_RUSTFLAGS=-C target-feature=+crt-static $flags"
    export TREEWIDE_TEST_SCALE=0.3
    # The unwinder of Debian 12's libgcc aborts at a frame that holds vectors of RISC-V.
    [[ $flags != *=+v ]] || skips=(--skip blobs_that_panic)
    tests test --locked -p treewide --target "$triple" --lib --test '*'
}

model() {
    need qemu-x86_64
    need_target stable $HOST
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=qemu-x86_64 QEMU_CPU=$1
    export TREEWIDE_TEST_SCALE=0.1
    tests test --locked -p treewide --target $HOST --lib --test kernels
}

miri() {
    need_nightly miri rust-src
    # Hundreds of times slower than programs are: most tests run one or a few of their cases.
    export MIRIFLAGS=-Zmiri-disable-isolation TREEWIDE_TEST_SCALE=0.001
    # A folder for each kernel: under Miri programs see the variables of when they were built.
    TREEWIDE_KERNEL=$2 CARGO_TARGET_DIR=$target/miri-$2 tests +nightly miri test --locked -p treewide --features zeroize --target "$1" \
        --lib
}

# As in the debug build of a program: the workspace's own tests are optimised.
unoptimised() {
    TREEWIDE_TEST_SCALE=0.1 CARGO_TARGET_DIR=$target/unoptimised-tests \
        tests test --locked --config 'profile.dev.package.treewide.opt-level=0' -p treewide --lib
}

# The Python package with pyarrow, polars, pandas, DuckDB, PyTorch, JAX and pyright: several gigabytes.
python_with_libraries() {
    need python3
    WITH_LIBRARIES=1 step bindings/python/check.sh
}

# 10,000 random shardings of tensors.
python_shardings() {
    need python3
    TREEWIDE_TEST_SCALE=14.3 step bindings/python/check.sh package
}

# 10,000 seeds of the simulation, 1,000 workers, Spark, and a server that ignores If-Match.
python_scale() {
    need python3 java
    if ! command -v s3s-fs >/dev/null; then
        # Later versions want a newer rustc. A build without optimisation takes a tenth of the time.
        step cargo install s3s-fs --version 0.14.1 --features binary --locked --debug --root "$target/s3s" ||
            echo "SKIPPED: cargo cannot install s3s-fs"
        export PATH=$PATH:$target/s3s/bin
    fi
    WITH_SPARK=1 TREEWIDE_TEST_SCALE=40 step bindings/python/check.sh scale
}

address_sanitizer() {
    need_nightly
    need_target nightly $HOST
    RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$target/asan \
        tests +nightly test --locked --no-fail-fast -p treewide --target $HOST --all-features --lib \
        --tests
}

thread_sanitizer() {
    need_nightly rust-src
    need_target nightly $HOST
    # The standard library too, or its synchronisation would not be seen.
    RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=$target/tsan \
        tests +nightly test -Zbuild-std --locked --no-fail-fast -p treewide --target $HOST --all-features \
        --test kernels --test hashing
}

wasm() {
    need node
    need_target stable wasm32-wasip1
    export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/scripts/wasi.mjs"
    export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS=$1 TREEWIDE_TEST_SCALE=0.3
    local what=(--locked -p treewide --target wasm32-wasip1 --release)
    tests test "${what[@]}" --lib --test kernels
    tests test "${what[@]}" --test hashing differential
}

refused() {
    need cc strace
    export TREEWIDE_TEST_REFUSED=all
    step cargo test --locked -p treewide-cli --test cli refused:: -- --show-output
}

client() {
    step scripts/clients.sh "$1"
}

# The C libraries without Cargo, and on a big-endian machine.
capi() {
    step make -C bindings/c check TESTS="plain_rustc emulated"
}

# The bundle of the Swift package with Swift 6.2, and its measurements.
swift_release() {
    SWIFT_DEBIAN=sid step scripts/swift.sh bundle
    step scripts/swift.sh bench 20 >"$target/swift/samples.jsonl"
    step cargo run --locked -p treewide-bench -- report "$target/swift/samples.jsonl"
}

# The wheels that are released of the Python package, and its source.
python_release() {
    need python3
    step bindings/python/release.sh
}

# Tests of files and processes next to eight endless loops on two CPUs, ten times, and three copies at once, three times: one that waits for a
# time fails. TREEWIDE_TEST_LOAD=1 runs each once.
load() {
    need taskset
    local rounds=${TREEWIDE_TEST_LOAD:-10} loops=() threads it pid bad=0
    local tests=(cargo test --locked --no-fail-fast -p treewide-cli -p treewide-manifest -p treewide-files --lib --tests)
    step "${tests[@]}" --no-run
    taskset --cpu-list --pid 0,1 "$BASHPID"
    trap 'kill "${loops[@]}"' EXIT
    for _ in {1..8}; do
        while :; do :; done &
        loops+=("$!")
    done
    for threads in 1 2 16; do
        for ((it = 0; it < rounds; it++)); do step "${tests[@]}" -- --test-threads="$threads" || bad=1; done
    done
    kill "${loops[@]}"
    for ((it = 0; it < rounds && it < 3; it++)); do
        loops=()
        for _ in 1 2 3; do
            "${tests[@]}" &
            loops+=("$!")
        done
        for pid in "${loops[@]}"; do wait "$pid" || bad=1; done
    done
    trap - EXIT
    ((bad == 0))
}

# A million random edits of lists.
lists() {
    TREEWIDE_TEST_SCALE=100 CARGO_TARGET_DIR=$target \
        cargo test --locked --release -p treewide-digests --test lists -- --nocapture
}

# Thousands of random edits of a tree.
manifests() {
    # In memory, where bringing a file to the disk takes no time.
    [[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
    TREEWIDE_TEST_SCALE=1000 CARGO_TARGET_DIR=$target \
        cargo test --locked --release -p treewide-manifest --test manifest -- property:: --nocapture
    TREEWIDE_TEST_HISTORIES=10000 CARGO_TARGET_DIR=$target \
        cargo test --locked --release -p treewide-manifest --test manifest -- histories:: past:: back:: --nocapture
}

# Manifests of ten million entries, which take 6 GB of disk, in less than 200 MB of memory.
many_entries() {
    local it
    # One in a process, as memory is that of the process.
    for it in join diff; do
        TREEWIDE_TEST_ENTRIES=10000000 CARGO_TARGET_DIR=$target \
            cargo test --locked --release -p treewide-manifest --lib "${it}_of_many_entries" -- --nocapture
    done
}

# Each feature with each other one.
feature_pairs() {
    cargo hack --version || cannot_run "cargo install --locked cargo-hack has not been run"
    # Those of `blake3` that turn a kernel off are seen alone, by test.sh.
    step cargo hack check --locked -p treewide --feature-powerset --depth 2 --exclude-features \
        no_sse2,no_sse41,no_avx2,no_avx512,no_neon,neon,pure,prefer_intrinsics
}

# The package for Debian, in a clean Debian 12: its program, its pages, its completions.
debian() {
    need mmdebstrap dpkg-deb
    [[ $(id -u) == 0 ]] || cannot_run "only root can make a Debian tree"
    step scripts/release.sh --dry-run debian
    local package=(target/release-files/treewide_*.deb) tree=$target/debian-12
    [[ -e ${package[0]} ]] || cannot_run "scripts/release.sh made no package: see above"
    # Under another name until it is complete.
    if [[ ! -e $tree ]]; then
        rm -rf "$tree.part"
        step mmdebstrap --variant=apt bookworm "$tree.part"
        mv "$tree.part" "$tree"
    fi
    cp "${package[0]}" "$tree/treewide.deb"
    step chroot "$tree" dpkg --install treewide.deb
    step chroot "$tree" sh -c 'cd /tmp && mkdir -p it && echo a >it/a && treewide snapshot it -o it.b3 && treewide verify it.b3 it'
    step chroot "$tree" sh -c 'treewide sum /etc/debian_version >/tmp/sums && treewide check /tmp/sums'
    step chroot "$tree" sh -c 'ls /usr/share/doc/treewide/copyright /usr/share/bash-completion/completions/treewide'
    step chroot "$tree" ls /usr/share/man/man1/treewide-verify.1.gz /usr/share/man/man1/treewide-outboard-verify.1.gz
}

# A file of 4 GiB in the page of the npm package. bindings/js/check.sh builds it.
npm_large() {
    step bindings/js/check.sh
    (cd bindings/js && step node --test --test-reporter=tap test/slow/*.test.mjs)
}

fuzz() {
    need_nightly
    cargo fuzz --version || cannot_run "cargo install cargo-fuzz has not been run"
    local corpus=$target/fuzz/corpus/$1
    mkdir -p "$corpus"
    cd dev/fuzz || return
    # Large inputs come from few bytes (dev/fuzz/src/lib.rs), so these need not be many.
    step cargo +nightly fuzz run --fuzz-dir . --target-dir "$target/fuzz" "$1" "$corpus" -- \
        -max_total_time="$seconds_each" -max_len=4096 -print_final_stats=1
}

sections() {
    for it in "${EMULATED[@]}"; do
        read -r -a it <<<"$it"
        section "emulated ${it[0]} ${it[3]}" emulated "${it[@]}"
    done
    for it in "${MODELS[@]}"; do section "model $it" model "$it"; done
    section "unoptimised" unoptimised
    section "wasm simd128" wasm -Ctarget-feature=+simd128
    section "wasm without vectors" wasm ""
    section "npm: a page with 4 GiB" npm_large
    section "load" load
    section "lists" lists
    section "manifests" manifests
    section "manifests of many entries" many_entries
    section "refused system calls" refused
    for it in $(scripts/clients.sh --list); do section "client $it" client "$it"; done
    section "pairs of features" feature_pairs
    section "debian" debian
    section "capi" capi
    section "python with libraries" python_with_libraries
    section "random shardings" python_shardings
    section "python release" python_release
    section "swift release" swift_release
    section "swift apple" scripts/swift.sh apple
    section "scale" python_scale
    section "address sanitizer" address_sanitizer
    section "thread sanitizer" thread_sanitizer
    for it in "${INTERPRETED[@]}"; do
        for kernel in portable array; do section "miri $it $kernel" miri "$it" "$kernel"; done
    done
    for it in dev/fuzz/fuzz_targets/*.rs; do
        section "fuzz $(basename "$it" .rs)" fuzz "$(basename "$it" .rs)"
    done
}

check_words sections
rm -rf "$logs" && mkdir -p "$logs"
sections
summary
