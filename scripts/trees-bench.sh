#!/usr/bin/env bash
# shellcheck disable=SC2317 # functions are called by their names
# Trees against b3sum: 50,000 files of log-normal size, and a million tiny ones. Manifests of the former.
#
#   scripts/trees-bench.sh            both; needs 0.6 GB of disk and 8 GB of memory or disk
#   scripts/trees-bench.sh speed      the 50,000: times against b3sum
#   scripts/trees-bench.sh memory     the million: memory
#   scripts/trees-bench.sh manifest   the 50,000: manifests against sum, check, find and other programs
#
# The other programs are hashdeep, mtree (of the package mtree-netbsd), rclone and git, and model_signing from PyPI, if
# MODEL_SIGNING names the Python of an environment that has it. What is not installed is SKIPPED.
#
# Both programs hash the same files of a warm cache as whole processes, in turn, and treewide-bench judges the samples. Set B3SUM to a b3sum 1.8 that is not on PATH, TREEWIDE to a treewide that is built already,
# and TMPDIR to another place for the files.
# What is made is removed in the end. Exits with 1 if a bar is short, with 3 if one is inconclusive.

set -euo pipefail
# As in the packages: optimised across crates.
export CARGO_PROFILE_RELEASE_LTO=thin
cd "$(dirname "$0")/.."

RUNS=${RUNS:-7} PEER_RUNS=${PEER_RUNS:-5}
b3sum=${B3SUM:-$(command -v b3sum || true)}
[[ -x $b3sum ]] || { echo "there is no b3sum: cargo install b3sum, or set B3SUM" >&2; exit 1; }
command -v /usr/bin/time >/dev/null || { echo "there is no /usr/bin/time: apt-get install time" >&2; exit 1; }

target=${CARGO_TARGET_DIR:-target}/release
[[ -n ${TREEWIDE:-} ]] || cargo build -q --locked --release -p treewide-cli --bin treewide
cargo build -q --locked --release -p treewide-cli --example make-tree
cargo build -q --locked --release -p treewide-bench
bench=$(realpath "$target/treewide-bench")
treewide=$(realpath "${TREEWIDE:-$target/treewide}") make_tree=$(realpath "$target/examples/make-tree")

place=$(mktemp -d "${TMPDIR:-/tmp}/treewide-trees.XXXXXX")
million="" missed=0
trap 'rm -rf "$place" ${million:+"$million"}' EXIT

# The arguments of one process: the names in the file `names`.
all_names() { xargs -0 -x -s 2000000 -n 100000 "$@" <"$place/names"; }

b3sum_names() { all_names "$b3sum"; }
b3sum_two() { xargs -0 -P 2 -n 500 "$b3sum" <"$place/names"; }
b3sum_check() { "$b3sum" --check --quiet "$place/sums"; }
treewide_names() { all_names "$treewide" sum; }
treewide_one() { all_names "$treewide" sum --threads 1; }
treewide_walk() { "$treewide" sum -r .; }
treewide_check() { "$treewide" check --quiet "$place/sums"; }
treewide_check_b3sum() { "$treewide" sum --check --quiet "$place/sums"; }

# Nanoseconds of each of the commands, in turn, RUNS times after one that does not count.
measure() {
    local run it begin
    for ((run = 0; run <= RUNS; run++)); do
        for it in "$@"; do
            begin=$(date +%s%N)
            "$it" >"$place/out"
            ((run == 0)) || echo $(($(date +%s%N) - begin)) >>"$place/time-$it"
        done
    done
}

# row NAME COMMAND OTHER [BAR]: a row for treewide-bench.
row() {
    local bytes
    bytes=$(cat "$place/bytes")
    samples "$1" treewide "$2" ""
    samples "$1" "${5:-b3sum}" "$3" "${4:+,\"bar\":$4}"
}

samples() {
    printf '{"name":"%s","engine":"%s","bytes":%s,"samples":[%s]%s}\n' "$1" "$2" "$bytes" \
        "$(paste -sd, "$place/time-$3")" "$4" >>"$place/samples.jsonl"
}

echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, $(uname -sr)"
echo "treewide $(git describe --always --dirty), $("$b3sum" --version), $RUNS runs in turn, medians"

make_files() {
    [[ ! -d $place/tree ]] || return 0
    mkdir "$place/tree"
    "$make_tree" "$place/tree" lognormal
    find "$place/tree" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }' >"$place/bytes"
}

speed() {
    make_files
    cd "$place/tree"
    find . -type f -print0 | LC_ALL=C sort -z >"$place/names"
    b3sum_names >"$place/sums"
    cmp <(treewide_walk) "$place/sums"
    cmp <(treewide_names) "$place/sums"
    echo "50,000 files, $(cat "$place/bytes") bytes, 200 directories: the same lines"
    measure b3sum_names b3sum_two b3sum_check \
        treewide_names treewide_one treewide_walk treewide_check treewide_check_b3sum
    row "sum, all files as arguments" treewide_names b3sum_names 2
    row "sum -r" treewide_walk b3sum_names 2
    row "sum, with xargs -P 2 b3sum" treewide_names b3sum_two 1
    row "sum --threads 1" treewide_one b3sum_names ""
    row "check" treewide_check b3sum_check 2
    row "sum --check" treewide_check_b3sum b3sum_check 2
}

memory() {
    local shm it
    # In memory where there is room for it: that is quicker to make and to remove.
    shm=/dev/shm
    [[ $(df --output=avail -k $shm 2>/dev/null | tail -n 1) -gt 8000000 ]] || shm=${TMPDIR:-/tmp}
    million=$(mktemp -d "$shm/treewide-million.XXXXXX")
    "$make_tree" "$million" tiny 1000000
    cd "$million"
    echo
    for it in "sum -r ." "check --quiet $place/million"; do
        # shellcheck disable=SC2086 # words of a command
        /usr/bin/time -o "$place/usage" -f "%e %M" "$treewide" $it >"$place/out"
        [[ $it != sum* ]] || mv "$place/out" "$place/million"
        awk -v what="1,000,000 files of 0 to 1024 bytes, ${it%% *}" '{
            verdict = $2 <= 300 * 1024 ? "met" : "MISSED"
            printf "%-50s %8.2f s  %9.1f MiB at most  bar 300 MiB: %s\n", what, $1, $2 / 1024, verdict
            exit verdict != "met"
        }' "$place/usage" || missed=1
    done
    [[ $(wc -l <"$place/million") == 1000000 ]]
}

manifest_snapshot() { rm -f "$place/new.b3" "$place/new.b3.tw"; "$treewide" snapshot "$place/tree" -o "$place/new.b3" -q; }
manifest_sum() { "$treewide" sum -r "$place/tree" -o "$place/new-sums"; }
manifest_verify() { "$treewide" verify "$place/x.b3" "$place/tree" -q; }
manifest_check() { (cd "$place/tree" && "$treewide" check --quiet "$place/x.b3"); }
manifest_quick() { "$treewide" verify --quick "$place/x.b3" "$place/tree" -q; }
manifest_update() { rm -f "$place/new.b3" "$place/new.b3.tw"; "$treewide" update "$place/x.b3" "$place/tree" -o "$place/new.b3" -q; }
manifest_find() { find "$place/tree" -printf '%s %T@ %C@ %i %p\n'; }
manifest_hashdeep() { (cd "$place/tree" && hashdeep -c sha256 -r -l -a -k "$place/known" .); }
manifest_mtree() { mtree -c -k sha256digest -p "$place/tree"; }
manifest_rclone() { rclone hashsum SHA-256 "$place/tree"; }
manifest_git() { git -C "$place/tree" --git-dir "$place/git" --work-tree . status --porcelain; }
manifest_model_signing() { "$model_signing" "$place/hash-model.py" "$place/tree"; }

# Other programs, on the same tree as ours, in turn with it.
peers() {
    local name ours=(manifest_snapshot manifest_verify manifest_update) theirs=()
    for name in hashdeep mtree rclone git; do
        if command -v "$name" >/dev/null; then theirs+=("manifest_$name"); else echo "SKIPPED: $name is not installed"; fi
    done
    # In an environment of its own: python3 -m venv DIR && DIR/bin/pip install model_signing==1.1.1 pyOpenSSL
    model_signing=${MODEL_SIGNING:-}
    if [[ -n $model_signing ]]; then
        cat >hash-model.py <<'EOF'
import sys
from pathlib import Path
from model_signing import hashing
hashing.Config().use_file_serialization(hashing_algorithm="blake3").hash(Path(sys.argv[1]))
EOF
        theirs+=(manifest_model_signing)
    else
        echo "SKIPPED: model_signing; set MODEL_SIGNING to the Python that has it"
    fi
    ((${#theirs[@]} > 0)) || return 0
    if command -v hashdeep >/dev/null; then (cd tree && hashdeep -c sha256 -r -l .) >known; fi
    if command -v git >/dev/null; then
        git init -q --bare git
        git -C tree --git-dir "$place/git" --work-tree . add .
    fi
    rm -f time-manifest_{snapshot,verify,update}
    RUNS=$PEER_RUNS measure "${ours[@]}" "${theirs[@]}"
    peer hashdeep "verify, against hashdeep -c sha256 -a" manifest_verify 4.5
    peer mtree "snapshot, against mtree -c -k sha256digest" manifest_snapshot 3.4
    peer rclone "snapshot, against rclone hashsum SHA-256" manifest_snapshot 12
    peer git "update, against git status" manifest_update ""
    peer model_signing "snapshot, against model_signing with blake3" manifest_snapshot ""
}

peer() {
    if [[ -e time-manifest_$1 ]]; then row "$2" "$3" "manifest_$1" "$4" "$1"; fi
}

manifest() {
    make_files
    cd "$place"
    "$treewide" snapshot tree -o x.b3 -q
    # When the times of all files are old enough, they get their keys.
    sleep 0.1
    "$treewide" update x.b3 tree -q
    [[ $("$treewide" verify --quick x.b3 tree 2>&1) == *"; 0 files read (0 B)"* ]]
    measure manifest_snapshot manifest_sum manifest_verify manifest_check manifest_quick manifest_update manifest_find
    row "snapshot" manifest_snapshot manifest_sum 0.952 "sum -r -o"
    row "verify" manifest_verify manifest_check 0.952 check
    row "verify --quick" manifest_quick manifest_find "" "find -printf"
    row "update without changes" manifest_update manifest_find 0.667 "find -printf"
    peers
    # Two lists of a million lines that differ in ten.
    awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "%064x  folder/%03d/a-file-with-a-name-%08d.dat\n", i, i / 1000, i }' |
        LC_ALL=C sort -k 2 >a.b3
    sed '100000~100000d' a.b3 >b.b3
    /usr/bin/time -o usage -f "%e %M" "$treewide" diff a.b3 b.b3 >out 2>&1 || [[ $? == 1 ]]
    tail -n 1 usage | awk -v bytes="$(stat -c %s a.b3)" '{
        met = bytes / 1e6 / $1 >= 300 && $2 <= 30 * 1024
        printf "%-50s %8.2f s %8.1f MiB at most, %.0f MB/s  bar 300 MB/s, 30 MiB: %s\n",
            "diff of two lists of a million lines", $1, $2 / 1024, bytes / 1e6 / $1, met ? "met" : "MISSED"
        exit !met
    }' || missed=1
}

case ${1:-} in
"")
    speed
    memory
    manifest
    ;;
speed | memory | manifest) "$1" ;;
*) echo "there is no part called $1" >&2 && exit 2 ;;
esac
code=0
[[ ! -e $place/samples.jsonl ]] || "$bench" report "$place/samples.jsonl" || code=$?
((missed == 0)) || exit 1
exit "$code"
