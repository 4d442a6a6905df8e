#!/usr/bin/env bash
# Builds what is released of the Python package, and tests it: ./release.sh [FOLDER]. FOLDER, which is target/release-wheels
# unless it is named, then has the source and a wheel for each machine of MACHINES.
#
# On Linux, wheels run with glibc 2.17 and later, for which zig links them. Elsewhere the wheel is for this machine. The wheel for
# this machine is tested with every Python from 3.11 on that is found, one built from the source too, and both outside of the
# repository. PYTHONS names other Pythons. A Python without the global lock needs a wheel of its own, which is built for each
# that is found.

set -euo pipefail
cd "$(dirname "$0")"
. ../../scripts/steps.sh

readonly MACHINES=(x86_64 aarch64)
mkdir -p "${1:-target/release-wheels}"
out=$(cd "${1:-target/release-wheels}" && pwd)
tools=$PWD/target/release-tools
# Found before the environment hides them.
read -r -a pythons <<<"${PYTHONS:-$(compgen -c python3. | grep -E '^python3\.[0-9]+t?$' | sort -u | tr '\n' ' ')}"
[[ ${#pythons[@]} -gt 0 ]] || pythons=(python) # Windows
export PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH
is_linux=no
[[ $(uname -s) != Linux ]] || is_linux=yes

# Where a virtual environment has its programs.
programs() {
    if [[ -d $1/Scripts ]]; then echo "$1/Scripts"; else echo "$1/bin"; fi
}

# A virtual environment for a Python, without anything in it: the path of its Python.
empty() {
    rm -rf "target/release-venv"
    "$1" -m venv "target/release-venv" && echo "$(programs "$PWD/target/release-venv")/python"
}

is_usable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

is_without_lock() {
    "$1" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))'
}

# Tests what is installed for a Python, in a directory that has nothing to do with the repository.
smoke() {
    (cd / && "$1" -c '
import sys, treewide
assert treewide.hexdigest(b"") == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
assert getattr(sys, "_is_gil_enabled", lambda: True)() is bool(int(sys.argv[1])), "importing turned the lock on"
print(treewide.__file__, sys.version)
    ' "$2" && "$1" -m treewide --version)
}

usable=()
for python in "${pythons[@]}"; do
    if is_usable "$python"; then usable+=("$python"); else echo "SKIPPED: $python is older than 3.11, or has no venv"; fi
done
[[ ${#usable[@]} -gt 0 ]] || cannot_run "there is no Python from 3.11 on"

[[ -d $tools ]] || step "${usable[0]}" -m venv "$tools"
step "$(programs "$tools")/python" -m pip install --quiet --requirement tests/requirements.txt ziglang==0.17.0
PATH=$(programs "$tools"):$PATH

# FOLDER may have other packages of a release.
source=$out/treewide-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml).tar.gz
rm -f "$out"/treewide-*.whl "$source"
# What wheels contain; pyproject.toml takes all files of such names.
../../scripts/notices.py . >LICENSE-THIRD-PARTY
step maturin sdist --out "$out"
[[ $is_linux == yes ]] || step maturin build --release --locked --out "$out"
for machine in "${MACHINES[@]}"; do
    [[ $is_linux == yes ]] || break
    if [[ ! -d $(rustc --print sysroot)/lib/rustlib/$machine-unknown-linux-gnu/lib ]] &&
        ! step rustup target add "$machine-unknown-linux-gnu"; then
        echo "SKIPPED: Rust has no target $machine-unknown-linux-gnu"
        continue
    fi
    # This fails if the wheel needs what manylinux2014 does not promise.
    step maturin build --release --locked --zig --target "$machine-unknown-linux-gnu" --compatibility manylinux2014 --out "$out"
    wheel=("$out"/treewide-*-abi3-manylinux*_"$machine".whl)
    rm -rf target/release-extension && mkdir target/release-extension
    (cd target/release-extension && python -m zipfile -e "${wheel[0]}" .)
    if command -v readelf >/dev/null; then
        symbols=$(readelf --wide --dyn-syms target/release-extension/treewide/_treewide.abi3.so)
        newest=$(grep -oE 'GLIBC_2\.[0-9]+' <<<"$symbols" | sort -uV | tail -n 1)
        echo "$machine: $newest, $(stat -c %s "${wheel[0]}") bytes"
        [[ $(printf '%s\n' GLIBC_2.17 "$newest" | sort -V | tail -n 1) == GLIBC_2.17 ]]
    fi
done

for python in "${usable[@]}"; do
    lock=1 name="treewide-*-abi3-*.whl"
    [[ $is_linux == no ]] || name="treewide-*-abi3-manylinux*_$(uname -m).whl"
    clean=$(empty "$python")
    if is_without_lock "$python"; then
        step maturin build --release --locked --interpreter "$clean" --out "$out"
        lock=0 name="treewide-*t-*.whl"
    fi
    # shellcheck disable=SC2086,SC2206 # a pattern
    wheel=("$out"/$name)
    step "$clean" -m pip install --quiet "${wheel[0]}"
    step smoke "$clean" $lock
    step "$clean" -m pip install --quiet --only-binary :all: numpy pytest
    step "$clean" -m pytest -q -rs -p no:cacheprovider tests
done

clean=$(empty "${usable[0]}")
step "$clean" -m pip install --quiet "$source"
step smoke "$clean" 1
ls -l "$out"
