#!/usr/bin/env bash
# shellcheck disable=SC2317 # functions are called by their names
# One large file: treewide against b3sum, whole processes in turn on the same file, and the bars.
#
#   scripts/files-bench.sh [FOLDER]   the file is made there, and removed at the end (/tmp)
#
# TREEWIDE and B3SUM name the programs (target/release/treewide, b3sum), SIZE the length of the file
# (2 GiB), RUNS the pairs of runs of each case (7), COLD_SECONDS how long the cold case takes pairs (90), CASES a
# pattern of the cases to run (all). The order within a pair alternates. `treewide-bench report`, which must be built,
# judges the samples. Exits with 1 if a bar is short, with 3 if one is inconclusive.

set -euo pipefail
# As in the packages: optimised across crates.
export CARGO_PROFILE_RELEASE_LTO=thin
cd "$(dirname "$0")/.."

treewide=${TREEWIDE:-${CARGO_TARGET_DIR:-target}/release/treewide}
b3sum=${B3SUM:-b3sum}
bench=${CARGO_TARGET_DIR:-target}/release/treewide-bench
size=${SIZE:-$((2 << 30))}
runs=${RUNS:-7}
cores=$(nproc)

for program in "$treewide" "$b3sum" "$bench"; do
    command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 2; }
done
folder=$(mktemp -d "${1:-/tmp}/treewide-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
file=$folder/file
# Not random, but no hole, and nothing that compresses away.
openssl enc -aes-128-ctr -nosalt -pass pass:treewide -in /dev/zero 2>/dev/null |
    dd of="$file" bs=4M count="$size" iflag=fullblock,count_bytes status=none || true
sync "$file"

# Nanoseconds that a command takes.
nanoseconds() {
    local start=${EPOCHREALTIME/./}
    bash -c "$1" >"$folder/out" 2>"$folder/err" || { cat "$folder/err" >&2; exit 1; }
    echo $(((${EPOCHREALTIME/./} - start) * 1000))
}

# What this machine, if it is a virtual one, has given back to its host of memory that was free.
given_back() {
    cat /sys/module/page_reporting/parameters/reported_kib 2>/dev/null || true
}

# measure BEFORE COMMAND: the nanoseconds of COMMAND alone. Again if the system gave memory back during the run: a run
# that takes such pages takes two to five times as long, whichever program it is.
measure() {
    local before time
    for _ in 1 2 3 4 5; do
        $1
        before=$(given_back)
        time=$(nanoseconds "$2") || exit 1
        [[ $before != "$(given_back)" ]] || break
    done
    echo "$time"
}

missed=0
seconds=0

# compare NAME BAR OURS THEIRS [BEFORE]: BEFORE runs before each run of either.
compare() {
    local name=$1 bar=$2 ours=$3 theirs=$4 before=${5:-true} run a b first second start=$SECONDS all=() others=()
    [[ $name =~ ${CASES:-.} ]] || return 0
    $before
    bash -c "$ours" >"$folder/ours"
    bash -c "$theirs" | cmp -s - "$folder/ours" || { echo "$name: other digests" >&2; exit 1; }
    for ((run = 0; run < runs || SECONDS - start < seconds; run++)); do
        if ((run % 2)); then first=$ours second=$theirs; else first=$theirs second=$ours; fi
        a=$(measure "$before" "$first")
        b=$(measure "$before" "$second")
        if ((run % 2)); then all+=("$a") others+=("$b"); else all+=("$b") others+=("$a"); fi
    done
    samples "$name" treewide "" "${all[@]}"
    samples "$name" b3sum ",\"bar\":$bar" "${others[@]}"
}

# samples NAME ENGINE BAR NANOSECONDS...: a line for treewide-bench.
samples() {
    local list
    list=$(IFS=, && echo "${*:4}")
    printf '{"name":"%s","engine":"%s","bytes":%s,"samples":[%s]%s}\n' "$1" "$2" "$size" "$list" "$3" >>"$folder/samples.jsonl"
}

# Takes the file out of the page cache.
forget() {
    dd if="$file" iflag=nocache count=0 status=none
}

# The most anonymous memory, in MiB, that a command has while it runs.
anonymous() {
    local most=0 now
    "$@" >/dev/null &
    while now=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$!/status" 2>/dev/null) && [[ $now ]]; do
        ((now <= most)) || most=$now
    done
    wait $!
    awk -v most="$most" 'BEGIN { printf "%.1f", most / 1024 }'
}

echo "$(uname -sm), $cores CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
echo "$("$b3sum" --version), $("$treewide" --version), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
echo "$size bytes in $folder, $runs pairs of runs"
cat "$file" >/dev/null
compare "warm" 1.3 "$treewide sum $file" "$b3sum $file"
compare "warm, --num-threads 1" 1.3 "$treewide sum --num-threads 1 $file" "$b3sum --num-threads 1 $file"
compare "warm, --no-mmap" 2.0 "$treewide sum --no-mmap $file" "$b3sum --no-mmap $file"
compare "pipe from cat" 1.3 "cat $file | $treewide sum" "cat $file | $b3sum"
for strategy in read read-overlapped pread mmap mmap-parallel; do
    compare "warm, --strategy $strategy" 0 "$treewide sum --strategy $strategy $file" "$b3sum $file"
done
# Written a little at a time, the page cache holds a file in small pieces.
dd if="$file" of="$folder/pieces" bs=4k status=none && mv "$folder/pieces" "$file" && sync "$file"
compare "warm, cached in small pieces" 1.0 "$treewide sum $file" "$b3sum $file"
# The device decides, and is noisy: single runs differ by a third.
seconds=${COLD_SECONDS:-90}
compare "cold" 1 "$treewide sum $file" "$b3sum $file" forget
seconds=0
compare "cold, --drop-cache" 0 "$treewide sum --drop-cache $file" "$b3sum $file" forget
echo
for flags in "" "--no-mmap" "--num-threads 1"; do
    # shellcheck disable=SC2086 # several words, or none
    memory=$(anonymous "$treewide" sum $flags "$file")
    printf 'most anonymous memory, sum %-18s %6s MiB (at most 64)\n' "$flags" "$memory"
    awk -v it="$memory" 'BEGIN { exit it > 64 }' || missed=$((missed + 1))
done
code=0
[[ ! -e $folder/samples.jsonl ]] || "$bench" report "$folder/samples.jsonl" || code=$?
((missed == 0)) || exit 1
exit "$code"
