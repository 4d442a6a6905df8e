#!/usr/bin/env bash
# Measures GPUs on a machine that has no Rust and no network. Here, where it is built:
#
#     scripts/gpu.sh carry [FOLDER]
#
# builds what is measured into FOLDER (target/carry if there is none), which takes some minutes. There,
# with that folder beside the rest of the tree:
#
#     scripts/gpu.sh measure OUT [FOLDER]
#
# checks digests, and then measures: each step has a limit of its own, 560 seconds in all, writes what it
# has as it goes, and leaves the others alone if it fails. OUT gets
#
#     cuda.json, wgpu.json   all timing classes, for results/
#     profile.txt            what Nsight Compute says of the kernel for large inputs, if it is there
#     treewide.profile       from which lengths on the device is done before the CPU of that machine
#     torch.txt              the program for PyTorch in docs/gpu.md, and whether its digests are right
#     log.txt                all that was said, and the machine
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
    cargo build --locked --release -p treewide-gpu --features cuda --example treewide_gpu_c
    cargo build --locked --release -p treewide-cli --features gpu
    cargo build --locked --release -p treewide-bench --features gpu
    local built=$target/release
    cp "$built/examples/gpu-bench" "$built/examples/libtreewide_gpu_c.so" "$built/treewide" \
        "$built/treewide-bench" "$to"
    strip "$to/gpu-bench" "$to/treewide" "$to/treewide-bench"
    git rev-parse HEAD >"$to/commit"
    [[ -z $(git status --porcelain) ]] || echo "with changes" >>"$to/commit"
    # The kernels with other parameters are to be compared; without NVRTC there are none.
    local python=$target/tools/cuda/bin/python
    [[ -x $python ]] || python=python3
    "$python" scripts/cuda.py variants "$to/variants" || echo "SKIPPED: kernels with other parameters"
    # A machine for computing may have no Vulkan loader; drivers bring all but this and what it needs.
    local packages=(libvulkan1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2)
    mkdir -p "$to/debs"
    (cd "$to/debs" && apt-get download "${packages[@]}") || echo "SKIPPED: the Vulkan loader"
    # What these need of the C library is on the other machine, if it is no older.
    echo "needs at least $(objdump -T "$to"/gpu-bench "$to"/treewide{,-bench} "$to"/*.so |
        grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1)" | tee "$to/needs"
    du -sh "$to"
}

# step SECONDS NAME COMMAND...: says how it went, and lets nothing but time pass if it fails.
step() {
    local seconds=$1 name=$2 code=0 start=$SECONDS
    shift 2
    echo "== $name"
    timeout --kill-after=5 "$seconds" "$@" || code=$?
    [[ $code != 124 && $code != 137 ]] || echo "$name: stopped after $seconds seconds"
    echo "== $name: exit code $code, $((SECONDS - start)) seconds"
}

machine() {
    uname -a
    ldd --version | head -1
    cat "$1/needs"
    sed -n 's/^model name\s*: //p' /proc/cpuinfo | sort | uniq -c
    nvidia-smi || true
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.sm,power.limit,pcie.link.gen.max,pcie.link.width.max --format=csv || true
    "$1/treewide" devices
}

# The program in docs/gpu.md as it stands there, and its digests by the CPU.
# shellcheck disable=SC2016 # the marks of Markdown
torch() {
    local program=$1/recipe.py
    sed -n '/^```python/,/^```/ {/^`/!p}' docs/gpu.md |
        sed "s|target/release/examples/libtreewide_gpu_c.so|$1/libtreewide_gpu_c.so|" >"$program"
    cat >>"$program" <<'PYTHON'

import subprocess, sys
good = True
more = [torch.randn(1000003, device="cuda"), torch.arange(70001, dtype=torch.uint8, device="cuda")[1:],
        torch.empty(0, device="cuda"), torch.randn(257, 4099, device="cuda").t()]
tensors = list(model.values()) + more
for tensor, digest in zip(tensors, digests(tensors)):
    bytes_of = tensor.contiguous().cpu().view(-1).numpy().tobytes()
    expected = subprocess.run([sys.argv[1], "sum"], input=bytes_of, stdout=subprocess.PIPE).stdout[:64].decode()
    good &= expected == digest
    print(tuple(tensor.shape), tensor.dtype, digest, "right" if expected == digest else "WRONG: " + expected)
sys.exit(0 if good else 1)
PYTHON
    python3 "$program" "$1/treewide"
}

measure() {
    local out=$1 from=$2 largest=16G small=1G seconds=0.3 commit profiler
    if [[ -n ${TREEWIDE_GPU_QUICK:-} ]]; then largest=4M small=4M seconds=0.01; fi
    commit=$(tr '\n' ' ' <"$from/commit")
    chmod +x "$from/gpu-bench" "$from/treewide" "$from/treewide-bench" # a copy may have lost it
    if ! ldconfig -p | grep -q 'libvulkan\.so\.1'; then
        for deb in "$from"/debs/*.deb; do dpkg -x "$deb" "$from/loader" || true; done
        export LD_LIBRARY_PATH=$from/loader/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
    local icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    [[ -z ${VK_DRIVER_FILES:-} && -e $icd ]] && export VK_DRIVER_FILES=$icd
    step 30 machine bash "$self" machine "$from"
    step 200 cuda "$from/gpu-bench" --backend cuda --largest $largest --seconds $seconds \
        --kernels "$from/variants" --commit "$commit" --out "$out/cuda.json"
    step 60 torch bash "$self" torch "$from" >"$out/torch.txt" 2>&1
    cat "$out/torch.txt"
    step 80 wgpu "$from/gpu-bench" --backend wgpu --largest $small --seconds $seconds \
        --commit "$commit" --out "$out/wgpu.json"
    step 80 tune "$from/treewide-bench" tune --only gpu -o "$out/treewide.profile"
    profiler=$(command -v ncu || compgen -G '/opt/nvidia/nsight-compute/*/ncu' | tail -1)
    if [[ -n $profiler ]]; then
        step 110 profile "$profiler" --clock-control none --set full --kernel-name tiles_by_four \
            --launch-skip 1 --launch-count 1 --page details --log-file "$out/profile.txt" \
            "$from/gpu-bench" --backend cuda --largest $small --seconds 0.01 --only "resident 1073741824 B"
    else
        echo "SKIPPED: profile: there is no Nsight Compute"
    fi
    ls -l "$out"
}

case ${1:-} in
carry) carry "${2:-target/carry}" ;;
measure)
    out=${2:?where results go}
    [[ $out == /* ]] || out=$here/$out
    mkdir -p "$out"
    # No pipe: a step that not even a signal ends would hold it open.
    measure "$out" "$(realpath "${3:-target/carry}")" >"$out/log.txt" 2>&1
    cat "$out/log.txt"
    ;;
machine | torch) "$1" "$2" ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
