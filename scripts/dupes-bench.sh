#!/usr/bin/env bash
# Compares `treewide dupes` with `fclones group`, and times `dupes` and `missing` of long lists: scripts/dupes-bench.sh [LINES]
#
# Needs GNU time, python3 and fclones (`cargo install fclones`), and `cargo build --release -p treewide-cli`. The programs
# alternate; a table has medians of RUNS turns. FOLDER is where the tree and the lists are made; they stay there.

set -euo pipefail
cd "$(dirname "$0")/.."
treewide=$PWD/target/release/treewide runs=${RUNS:-7} lines=${1:-1000000}
folder=${FOLDER:-$(mktemp -d)}
mkdir -p "$folder" && cd "$folder"

[[ -d tree ]] || python3 - <<'MAKE'
# 50,000 files of log-normal length in 1,000 folders; every fifth is a copy of another.
import os, random
random.seed(7)
contents = []
for at in range(50_000):
    folder = f"tree/{at % 40:02}/{at // 40 % 25:02}"
    os.makedirs(folder, exist_ok=True)
    if at % 5 == 4:
        data = random.choice(contents)
    else:
        data = random.randbytes(min(int(random.lognormvariate(8.5, 1.3)) + 1, 1 << 20))
        contents.append(data)
    with open(f"{folder}/file-{at}.dat", "wb") as file:
        file.write(data)
MAKE
[[ -s b-$lines ]] || python3 - "$lines" <<'MAKE'
# Two lists. Half of the contents of each are in the other, under other names.
import hashlib, sys
lines = int(sys.argv[1])
for list, begin, name in (("a", 0, "photos/{:05}/IMG_{:08}.jpg"), ("b", lines // 2, "backup/{:05}/DSC_{:08}.jpg")):
    with open(f"{list}-{lines}", "w") as file:
        for at in range(lines):
            file.write(f"{hashlib.sha256(str(at + begin).encode()).hexdigest()}  {name.format(at // 1000, at)}\n")
MAKE

# Runs a command, and notes its seconds and most KiB; then the median of its turns.
turn() {
    local name=$1
    shift
    command time -f '%e %M' "$@" 2>&1 >/dev/null | tail -1 >>"times-$name"
}
median() { sort -n "times-$1" | awk -v name="$2" '{ s[NR] = $1; if ($2 > most) most = $2 } END { printf "%-40s %6.2f s %8.1f MiB\n", name, s[int((NR + 1) / 2)], most / 1024 }'; }

rm -f times-* tree.b3 tree.b3.tw
for ((run = 0; run < runs; run++)); do
    rm -f tree.b3 tree.b3.tw
    turn peer fclones group --threads 2 tree
    turn first "$treewide" dupes -q --no-progress --threads 2 tree
    "$treewide" snapshot -q --no-progress tree
    turn peer fclones group --threads 2 tree
    turn second "$treewide" dupes -q --quick --no-progress --threads 2 tree
    turn list "$treewide" dupes -q --no-progress tree.b3
done
for ((run = 0; run < (lines > 1000000 ? 1 : runs); run++)); do
    turn missing "$treewide" missing -q --no-progress "a-$lines" "b-$lines" || true
    turn dupes "$treewide" dupes -q --no-progress "a-$lines" "b-$lines"
done
median peer "fclones group, 50,000 files"
median first "dupes of the directory"
median second "dupes --quick, its manifest next to it"
median list "dupes of the manifest"
median missing "missing, 2 lists of $lines lines"
median dupes "dupes, 2 lists of $lines lines"
