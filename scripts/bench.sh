#!/usr/bin/env bash
# Every gate, on one page, in under ten minutes: run before each release and whenever a kernel
# changes. Not part of scripts/test.sh, as machines are noisy.
#
#   scripts/bench.sh            every file in gates/
#   scripts/bench.sh WORD...    only those that have one of these words in their names
#
# A gate is a file of bars: a row, an engine, the ratio that it must reach at least. Reports with all
# samples go to target/bench/. The exit code is 1 if something fell short, else 3 if of something it
# cannot be told, else 0. Nothing else should run meanwhile.

set -uo pipefail
cd "$(dirname "$0")/.." || exit

target=${CARGO_TARGET_DIR:-$PWD/target}
reports=$target/bench
mkdir -p "$reports"
b3sum_root=$target/tools

# The blake3 crate is one crate in a build: to leave instruction sets out needs a build of its own.
# shellcheck disable=SC2329
features() {
    case $1 in
    avx2) echo blake3/no_avx512 ;;
    sse41) echo blake3/no_avx512,blake3/no_avx2 ;;
    rscrypto) echo rscrypto ;;
    esac
}

programs() {
    cargo build -q --release --locked -p treewide-cli || return
    export TREEWIDE=$target/release/treewide
    if [[ -z ${B3SUM:-} ]]; then
        command -v b3sum >/dev/null || [[ -x $b3sum_root/bin/b3sum ]] ||
            cargo install -q b3sum --locked --root "$b3sum_root" || return
        [[ ! -x $b3sum_root/bin/b3sum ]] || export B3SUM=$b3sum_root/bin/b3sum
    fi
}

wanted() {
    local word
    [[ $# -gt 1 ]] || return 0
    for word in "${@:2}"; do [[ $1 != *"$word"* ]] || return 0; done
    return 1
}

gates=()
for file in gates/*.toml; do
    name=$(basename "$file" .toml)
    if wanted "$name" "$@"; then gates+=("$name"); fi
done
if [[ ${#gates[@]} == 0 ]]; then
    echo "no gate is called so; there are: $(basename -s .toml gates/*.toml | xargs)" >&2
    exit 2
fi

echo "$(git describe --always --dirty 2>/dev/null), $(rustc --version), $(uname -sm), $(nproc) CPUs, $(date -u +%FT%TZ)"
worst=0 measuring=0
for name in "${gates[@]}"; do
    echo
    [[ $name != files ]] || programs || exit 2
    cargo build -q --release --locked -p treewide-bench --features "$(features "$name")" || exit 2
    started=$SECONDS
    "$target/release/treewide-bench" gate "gates/$name.toml" --budget 100 \
        --json "$reports/$name.json" --html "$reports/$name.html" 2>"$reports/$name.log"
    code=$?
    ((measuring += SECONDS - started))
    case $code in
    0) ;;
    1) worst=1 ;;
    3) ((worst == 1)) || worst=3 ;;
    *) cat "$reports/$name.log" >&2 && exit 2 ;;
    esac
done
echo
echo "measured for $measuring s; reports in $reports"
exit "$worst"
