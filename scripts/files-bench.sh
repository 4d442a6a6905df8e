#!/usr/bin/env bash
# One large file: treewide against b3sum, whole processes in turn on the same file, and the bars.
#
#   scripts/files-bench.sh [FOLDER]   the file is made there, and removed at the end (/tmp)
#
# TREEWIDE and B3SUM name the programs (target/release/treewide, b3sum), SIZE the length of the file
# (2 GiB), RUNS the pairs of runs of each case (7), COLD_SECONDS how long the cold case takes pairs (90), CASES a
# pattern of the cases to run (all). A ratio is the median over the pairs of their wall time by ours, of
# more than eight pairs with its interval of 95 in 100; the order within a pair alternates. Exits with 1
# if a bar is missed.

set -euo pipefail
cd "$(dirname "$0")/.."

treewide=${TREEWIDE:-${CARGO_TARGET_DIR:-target}/release/treewide}
b3sum=${B3SUM:-b3sum}
size=${SIZE:-$((2 << 30))}
runs=${RUNS:-7}
cores=$(nproc)

for program in "$treewide" "$b3sum"; do
    command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 2; }
done
folder=$(mktemp -d "${1:-/tmp}/treewide-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
file=$folder/file
# Not random, but no hole, and nothing that compresses away.
openssl enc -aes-128-ctr -nosalt -pass pass:treewide -in /dev/zero 2>/dev/null |
    dd of="$file" bs=4M count="$size" iflag=fullblock,count_bytes status=none || true
sync "$file"

# Microseconds that a command takes; its output is compared by the caller.
microseconds() {
    local start=${EPOCHREALTIME/./}
    bash -c "$1" >"$folder/out" 2>"$folder/err" || { cat "$folder/err" >&2; exit 1; }
    echo $((${EPOCHREALTIME/./} - start))
}

# What this machine, if it is a virtual one, has given back to its host of memory that was free.
given_back() {
    cat /sys/module/page_reporting/parameters/reported_kib 2>/dev/null || true
}

# measure BEFORE COMMAND: the microseconds of COMMAND alone. Again if the system gave memory back during the run: a run
# that takes such pages takes two to five times as long, whichever program it is.
measure() {
    local before time
    for _ in 1 2 3 4 5; do
        $1
        before=$(given_back)
        time=$(microseconds "$2") || exit 1
        [[ $before != "$(given_back)" ]] || break
    done
    echo "$time"
}

missed=0
seconds=0

# compare NAME BAR OURS THEIRS [BEFORE]: BEFORE runs before each run of either.
compare() {
    local name=$1 bar=$2 ours=$3 theirs=$4 before=${5:-true} run a b pairs="" first second start=$SECONDS
    [[ $name =~ ${CASES:-.} ]] || return 0
    $before
    bash -c "$ours" >"$folder/ours"
    bash -c "$theirs" | cmp -s - "$folder/ours" || { echo "$name: other digests" >&2; exit 1; }
    for ((run = 0; run < runs || SECONDS - start < seconds; run++)); do
        if ((run % 2)); then first=$ours second=$theirs; else first=$theirs second=$ours; fi
        a=$(measure "$before" "$first")
        b=$(measure "$before" "$second")
        if ((run % 2)); then pairs+="$a $b"$'\n'; else pairs+="$b $a"$'\n'; fi
    done
    awk -v name="$name" -v bar="$bar" '
        function median(values, count,    i, j, value) {
            for (i = 2; i <= count; i++) {
                value = values[i]
                for (j = i - 1; j > 0 && values[j] > value; j--) values[j + 1] = values[j]
                values[j + 1] = value
            }
            return values[int((count + 1) / 2)]
        }
        NF == 2 { count++; ours[count] = $1; theirs[count] = $2; ratio[count] = $2 / $1 }
        END {
            result = median(ratio, count)
            # `median` has sorted them.
            least = int((count + 1 - 1.96 * sqrt(count)) / 2)
            interval = count > 8 ? sprintf("  %d pairs [%.2f, %.2f]", count, ratio[least],
                ratio[count + 1 - least]) : ""
            printf "%-32s %9.3f %9.3f %7.2f %6.2f%s%s\n", name, median(ours, count) / 1e6,
                median(theirs, count) / 1e6, result, bar, result < bar ? "  SHORT" : "", interval
            exit result < bar
        }' <<<"$pairs" || missed=$((missed + 1))
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
printf '%-32s %9s %9s %7s %6s\n' case "ours s" "b3sum s" ratio bar
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
echo "$missed below their bar"
((missed == 0))
