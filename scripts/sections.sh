# shellcheck shell=bash disable=SC2154 # words and logs are set
# Named sections of tests: runs lanes of them side by side, and counts what they tested. The scripts that source this set `logs`, the folder
# for the output of each section, and `words`: a section runs if it has one of them in its name. Without words, all run.

. scripts/steps.sh

asked_for() {
    local word
    for word in "${words[@]}"; do
        [[ $1 != *"$word"* ]] || return 0
    done
    ((${#words[@]} == 0))
}

# The sum of the numbers that `sed` finds in the log of this section.
count() {
    sed -nE "$1" "$log" | awk '{ sum += $1 } END { print sum + 0 }'
}

# The failures that a log lists, or else the whole log.
failures() {
    sed -n '/^failures:$/,/^test result: /p' "$1" | grep . || cat "$1"
}

# Lanes share the file of rows: each is written at once.
row() {
    printf '%-44s %-8s %7d %7d %9d %9d %9d %9d\n' "$@" | tee -a "$logs/rows"
}

# section NAME COMMAND...: runs it if it was asked for, and says how it went.
section() {
    local name=$1
    shift
    if [[ -n ${listing:-} ]]; then
        echo "$name"
        return
    fi
    asked_for "$name" || return 0
    local log=$logs/${name//[^a-z0-9_.]/-}.log code result=ok started=$SECONDS cpu TIMEFORMAT="%0U %0S" p f s cases noted
    echo "$name: started"
    { time { (set -e; "$@") </dev/null >"$log" 2>&1; }; } 2>"$log.time"
    code=$?
    cpu=$(awk '{ print $1 + $2 }' "$log.time")
    p=$(count 's/^test result: (.* )?([0-9]+) passed;.*/\2/p')
    f=$(count 's/^test result: (.* )?([0-9]+) failed;.*/\2/p')
    s=$(count 's/^test result: (.* )?([0-9]+) ignored;.*/\2/p')
    cases=$(count 's/^.*: ([0-9]+) cases.*/\1/p; s/^stat::number_of_executed_units: *//p')
    # What runs no tests that count themselves counts as its commands.
    ((p + f + s > 0)) || p=$(grep -c '^+ ' "$log")
    if ((code == CANNOT_RUN)); then
        result=SKIPPED
    elif ((code != 0)); then
        result=FAILED
        # A step that fails is not a test that passes, and the fault may be outside of tests.
        grep -q '^test result: ' "$log" || ((p = p > 0 ? p - 1 : 0))
        ((f > 0)) || f=1
    fi
    # Sections that cannot run, and tests that lack something on this machine, say so.
    noted=$(sed -n 's/^SKIPPED: //p' "$log" | sort -u)
    if [[ -n $noted ]]; then
        ((s += $(wc -l <<<"$noted")))
        echo "SKIPPED in $name: ${noted//$'\n'/$'\n'SKIPPED in $name: }" >>"$logs/notes"
    fi
    row "$name" "$result" $((SECONDS - started)) "$cpu" "$p" "$f" "$s" "$cases"
    if [[ $result == FAILED ]]; then
        failures "$log" | tail -n 100 | sed 's/^/    | /'
    fi
    [[ $result != FAILED ]]
}

# A word that is in the name of no section of these lanes is an error before anything runs.
check_words() {
    local all word listing=yes
    all=$(for word in "$@"; do "$word"; done)
    for word in "${words[@]}"; do
        if [[ $all != *"$word"* ]]; then
            printf '%s\n' "no section has \`$word' in its name; there are:" "${all//$'\n'/$'\n'  }" >&2
            exit 2
        fi
    done
}

# Runs functions of sections side by side. Sections of one lane may build in one folder.
side_by_side() {
    local lane
    trap 'trap - INT TERM; kill -TERM 0' INT TERM
    for lane in "$@"; do ("$lane"; exit 0) & done
    # A fault of the script itself ends a lane before its end.
    for lane in $(jobs -p); do wait "$lane" || row "the end of a lane" FAILED 0 0 0 1 0 0; done
    trap - INT TERM
}

# Prints all rows, what was skipped, and the sums; fails where a test failed.
summary() {
    [[ -e $logs/rows ]] || { echo "nothing was tested: this machine has no such section" >&2; exit 2; }
    echo
    printf '%-44s %-8s %7s %7s %9s %9s %9s %9s\n' section result seconds "of CPU" passed failed skipped cases
    cat "$logs/rows"
    [[ ! -e $logs/notes ]] || { echo; cat "$logs/notes"; }
    echo
    echo "$(rustc --version), $(uname -sm), $(nproc) CPUs, $((SECONDS / 60)) min $((SECONDS % 60)) s"
    awk '{ p += $(NF - 3); f += $(NF - 2); s += $(NF - 1) } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$logs/rows"
}
