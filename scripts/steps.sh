# shellcheck shell=bash
# What the scripts for tests and releases are made of. They source it: . scripts/steps.sh

# The exit code of a part that this machine cannot run.
readonly CANNOT_RUN=77

# A command that is shown before it runs.
step() {
    echo "+ $*"
    "$@"
}

# Ends a part, which test.sh and slow.sh then count as skipped, for this reason.
cannot_run() {
    echo "SKIPPED: $*"
    exit "$CANNOT_RUN"
}

# Ends a part where one of these programs is missing.
need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || cannot_run "there is no $program on this machine"
    done
}
