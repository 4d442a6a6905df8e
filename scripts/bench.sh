#!/usr/bin/env bash
# Every bar, on one page, in under ten minutes of measuring: run before each release and whenever a
# kernel changes. Not part of scripts/test.sh, as machines are noisy.
#
#   scripts/bench.sh                       everything
#   scripts/bench.sh WORD...               only what has one of these words in its name
#   scripts/bench.sh threads files trees   threads, files and trees, against b3sum
#
# A gate, a file in dev/bench/gates/, has bars: a row, an engine, the ratio that it must reach at least. Its
# report with all samples goes to target/bench/. What treewide-bench cannot time has a script:
#
#   operations-busy   the gate operations on one CPU while another program works on the next, often the same core
#   files-rest    pipes, cold files, memory       scripts/files-bench.sh
#   trees         many files, and their memory    scripts/trees-bench.sh
#   wasm          the kernel of WebAssembly under Node, next to that of blake3       crates/treewide/examples/wasm.rs
#   capi          the C library of BLAKE3, with TBB where libtbb-dev is installed    make -C bindings/c bench
#
# The exit code is 2 if something could not be run, else 1 if something fell short, else 3 if of
# something it cannot be measured, else 0. Nothing else should run at the same time.

set -uo pipefail
# As in the packages: optimised across crates.
export CARGO_PROFILE_RELEASE_LTO=thin
cd "$(dirname "$0")/.." || exit

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
reports=$target/bench
mkdir -p "$reports"
export TREEWIDE=$target/release/treewide
log=$reports/log

# The blake3 crate is one crate in a build: to leave instruction sets out needs a build of its own.
features() {
    case $1 in
    avx2 | streams-avx2) echo blake3/no_avx512 ;;
    sse41) echo blake3/no_avx512,blake3/no_avx2 ;;
    sse2) echo blake3/no_avx512,blake3/no_avx2,blake3/no_sse41 ;;
    portable) echo blake3/pure,blake3/no_avx512,blake3/no_avx2,blake3/no_sse41,blake3/no_sse2 ;;
    esac
}

profile() { if [[ $1 == unoptimised ]]; then echo unoptimised; else echo release; fi; }

# The Rust that rscrypto needs is not stable yet.
build() {
    local options=(-q --profile "$(profile "$1")" --locked -p treewide-bench --features "$(features "$1")")
    if [[ $1 == rscrypto ]]; then
        RUSTFLAGS="--cfg rscrypto" cargo +nightly build "${options[@]}" --target-dir "$target/rscrypto"
    else
        cargo build "${options[@]}"
    fi
}

# The programs that are compared.
programs() {
    cargo build -q --release --locked -p treewide-cli --example make-tree --bin treewide || return
    B3SUM=${B3SUM:-$(command -v b3sum || echo "$target/tools/bin/b3sum")}
    export B3SUM
    [[ -x $B3SUM ]] || cargo install -q b3sum --locked --root "$target/tools"
}

wasm() {
    if [[ ! $(command -v node) || ! -d $(rustc --print sysroot)/lib/rustlib/wasm32-wasip1 ]]; then
        echo "wasm: SKIPPED, needs node and the target wasm32-wasip1"
        return
    fi
    RUSTFLAGS=-Ctarget-feature=+simd128 cargo build -q --release --locked -p treewide --example wasm --target wasm32-wasip1 \
        --features blake3/wasm32_simd || return
    node --no-warnings scripts/wasi.mjs "$target/wasm32-wasip1/release/examples/wasm.wasm" | "$target/release/treewide-bench" report -
}

run() {
    case $1 in
    capi) SECONDS_EACH=0.2 make -s -C bindings/c bench | "$target/release/treewide-bench" report - ;;
    wasm) wasm ;;
    files-rest) CASES='pipe|pieces|cold' RUNS=5 scripts/files-bench.sh ;;
    trees) RUNS=5 scripts/trees-bench.sh ;;
    *)
        local bench beside=()
        bench=$target/$([[ $1 != rscrypto ]] || echo rscrypto/)$(profile "$1")/treewide-bench
        if [[ $1 == *-busy ]]; then
            beside=(taskset -c 0)
            exec 9> >(exec taskset -c 1 "$bench" spin) # until 9 is closed
        fi
        "${beside[@]}" "$bench" gate "dev/bench/gates/${1%-busy}.toml" --budget 100 --json "$reports/$1.json"
        local code=$?
        exec 9>&-
        return "$code"
        ;;
    esac
}

names=()
all=("$(basename -s .toml dev/bench/gates/*.toml)" operations-busy files-rest trees wasm capi)
# shellcheck disable=SC2048 # several words
for name in ${all[*]}; do
    [[ $# -gt 0 ]] || names+=("$name")
    for word in "$@"; do
        if [[ $name == *"$word"* ]]; then names+=("$name") && break; fi
    done
done
if [[ ${#names[@]} == 0 ]]; then
    echo "nothing is called so; there are: $(xargs <<<"${all[*]}")" >&2
    exit 2
fi

echo "$(git describe --always --dirty 2>/dev/null), $(rustc --version), $(uname -sm), $(nproc) CPUs, $(date -u +%FT%TZ)"
codes=() measuring=0
for name in "${names[@]}"; do
    echo
    echo "== $name"
    if [[ $name == rscrypto && $(printf '%s\n' "rustc 1.100" "$(rustc +nightly --version 2>&1)" | sort -V | head -n 1) != "rustc 1.100" ]]; then
        echo "rscrypto: SKIPPED, needs a nightly of Rust 1.100 or later"
        continue
    fi
    {
        case $name in
        files | files-rest | trees) programs ;;
        esac && build "$name"
    } 2>"$log" || { tail -n 20 "$log" && codes+=(2) && continue; }
    started=$SECONDS
    run "$name" 2>"$log"
    code=$?
    ((measuring += SECONDS - started))
    ((code == 0 || code == 1 || code == 3)) || { tail -n 20 "$log" && code=2; }
    codes+=("$code")
done
echo
echo "measured for $measuring s; reports in $reports"
for code in 2 1 3; do
    [[ " ${codes[*]} " != *" $code "* ]] || exit "$code"
done
