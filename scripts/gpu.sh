#!/usr/bin/env bash
# Measures GPUs on a machine that has no Rust and no network. Here, where it is built:
#
#     scripts/gpu.sh carry [FOLDER]
#
# builds what is measured into FOLDER (target/carry if there is none), which takes some minutes. There,
# with that folder next to the rest of the tree:
#
#     scripts/gpu.sh measure OUT [FOLDER]
#
# checks digests, and then measures, the most wanted first: each step has a limit of its own, 580
# seconds in all, writes what it has as it goes, and leaves the others alone if it fails. OUT gets
#
#     classes.json           all timing classes, for results/: a report of treewide-bench
#     cuda.jsonl, wgpu.jsonl batches, lists, copies, one launch next to several: samples for `treewide-bench report`
#     weights.json           digests of a sharded model, by two processes on one GPU, next to hashing the same bytes
#     torch.txt              the Python package with tensors of PyTorch, CuPy and JAX: digests, and a model of 4,000 tensors
#     tune.txt               from which lengths on the device is done before the CPU of that machine
#     profile.txt            what Nsight Compute says of the kernel for large inputs, if it is there
#     log.txt                all that was said, and the machine; how each step went at its end
#
# Exits with 1 if a step failed or was stopped. What a machine cannot do, such as PyTorch where there is
# none, is NOT RUN, which is not a failure.
#
# TREEWIDE_GPU_QUICK=1 takes small inputs: to try the script where a GPU is a program.
set -u
here=$PWD
cd "$(dirname "$0")/.."
self=$PWD/scripts/gpu.sh

carry() {
    set -e
    local to=$1 target=${CARGO_TARGET_DIR:-target}
    mkdir -p "$to"
    cargo build --locked --release -p treewide-gpu --features cuda,wgpu --example gpu-bench
    # With a word that names none of its tests: the environment and the wheel.
    bindings/python/check.sh none
    cargo build --locked --release -p treewide-cli --features gpu
    cargo build --locked --release -p treewide-bench --features gpu
    local built=$target/release
    cp "$built/examples/gpu-bench" "$built/treewide" "$built/treewide-bench" \
        bindings/python/target/wheels/treewide-*.whl "$to"
    strip "$to/gpu-bench" "$to/treewide" "$to/treewide-bench"
    git rev-parse HEAD >"$to/commit"
    [[ -z $(git status --porcelain) ]] || echo "with changes" >>"$to/commit"
    # A machine for computing may have no Vulkan loader; drivers bring all but this and what it needs.
    local packages=(libvulkan1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2)
    mkdir -p "$to/debs"
    (cd "$to/debs" && apt-get download "${packages[@]}") || echo "SKIPPED: the Vulkan loader"
    # What these need of the C library is on the other machine, if that is not older.
    echo "needs at least $(objdump -T "$to"/gpu-bench "$to"/treewide{,-bench} |
        grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1)" | tee "$to/needs"
    du -sh "$to"
}

# When all must be over, as the caller of this script may have no more than ten minutes.
end=590

# step SECONDS NAME COMMAND...: says how it went, and lets nothing but time pass if it fails. A command that
# exits with 77 has said why it did not run.
step() {
    local seconds=$1 name=$2 code=0 start=$SECONDS how
    shift 2
    echo "== $name" >&2
    # Another 5 for a process that does not end on SIGTERM.
    ((seconds < end - 5 - SECONDS)) || seconds=$((end - 5 - SECONDS))
    if ((seconds > 0)); then
        timeout --kill-after=5 "$seconds" "$@" || code=$?
    else
        code=124
    fi
    case $code in
    0) how="done" ;;
    77) how="NOT RUN, see above" ;;
    124 | 137) how="STOPPED after $((seconds > 0 ? seconds : 0)) seconds" ;;
    *) how="FAILED with exit code $code" ;;
    esac
    how="$name: $how, $((SECONDS - start)) seconds"
    echo "== $how" >&2
    ended+=("$how")
    [[ $code == 0 || $code == 77 ]] || failed=1
}

machine() {
    uname -a
    ldd --version | head -1
    cat "$1/commit" "$1/needs"
    sed -n 's/^model name\s*: //p' /proc/cpuinfo | sort | uniq -c
    nvidia-smi || true
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.sm,power.limit,pcie.link.gen.max,pcie.link.width.max --format=csv || true
    "$1/treewide" explain
}

# The wheel, for the Python of this machine.
install() {
    command -v python3 >/dev/null || { echo "NOT RUN: there is no python3" && exit 77; }
    local installed=$1/installed
    rm -rf "$installed"
    python3 -m pip install --quiet --no-index --no-deps --target "$installed" "$1"/treewide-*.whl ||
        { echo "NOT RUN: pip cannot install the wheel" && exit 77; }
    export PYTHONPATH=$installed
}

# The Python package, with the libraries of tensors that this machine has. -P, as PyTorch takes scripts/cuda.py for a module.
torch() {
    install "$1"
    python3 -P scripts/gpu.py "${TREEWIDE_GPU_QUICK:-0}"
}

# Shards of models through `treewide.weights`.
weights() {
    install "$1"
    python3 -P scripts/gpu_weights.py "$2" "${TREEWIDE_GPU_QUICK:-0}"
}

# What Nsight Compute says of the kernel for large inputs.
profile() {
    local profiler
    profiler=$(command -v ncu || compgen -G '/opt/nvidia/nsight-compute/*/ncu' | tail -1)
    [[ -n $profiler ]] || { echo "NOT RUN: there is no Nsight Compute (ncu)" && exit 77; }
    "$profiler" --clock-control none --set full --kernel-name tiles_by_four \
        --launch-skip 1 --launch-count 1 --page details --log-file "$2/profile.txt" \
        "$1/gpu-bench" --backend cuda --largest "$3" --seconds 0.01 --only "resident 1073741824 B"
}

measure() {
    local out=$1 from=$2 largest=$((16 << 30)) small=$((1 << 30)) seconds=0.3 budget=300
    if [[ -n ${TREEWIDE_GPU_QUICK:-} ]]; then largest=$((4 << 20)) small=$largest seconds=0.01 budget=10; fi
    chmod +x "$from/gpu-bench" "$from/treewide" "$from/treewide-bench" # a copy may have lost it
    if ! ldconfig -p | grep 'libvulkan\.so\.1' >/dev/null; then
        for deb in "$from"/debs/*.deb; do dpkg -x "$deb" "$from/loader" || true; done
        export LD_LIBRARY_PATH=$from/loader/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
    local icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    [[ -z ${VK_DRIVER_FILES:-} && -e $icd ]] && export VK_DRIVER_FILES=$icd
    ended=() failed=0
    step 20 machine bash "$self" machine "$from"
    step 110 cuda "$from/gpu-bench" --backend cuda --largest $largest --seconds $seconds >"$out/cuda.jsonl"
    step 60 weights bash "$self" weights "$from" "$out"
    step 70 classes "$from/treewide-bench" gpu --device cuda --budget $budget --json "$out/classes.json"
    step 50 wgpu "$from/gpu-bench" --backend wgpu --largest $small --seconds $seconds >"$out/wgpu.jsonl"
    step 50 torch bash "$self" torch "$from" >"$out/torch.txt"
    step 70 tune "$from/treewide-bench" tune --only gpu --budget $budget >"$out/tune.txt"
    cat "$out/torch.txt" "$out/tune.txt"
    for samples in cuda wgpu; do "$from/treewide-bench" report "$out/$samples.jsonl"; done
    step 70 profile bash "$self" profile "$from" "$out" $small
    ls -l "$out"
    printf '== %s\n' "in all: $SECONDS seconds" "${ended[@]}"
    return $failed
}

case ${1:-} in
carry) carry "${2:-target/carry}" ;;
measure)
    out=${2:?where results go}
    [[ $out == /* ]] || out=$here/$out
    mkdir -p "$out"
    # No pipe: a step that not even a signal ends would hold it open.
    code=0
    measure "$out" "$(realpath "${3:-target/carry}")" >"$out/log.txt" 2>&1 || code=$?
    cat "$out/log.txt"
    exit $code
    ;;
machine | torch | weights | profile) "$@" ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
