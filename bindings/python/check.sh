#!/usr/bin/env bash
# Tests the Python package: ./check.sh, or ./check.sh WORD... for the tests whose names contain one of these words.
#
# Makes a virtual environment in target/venv, builds the wheel and installs it there. PYTHON names another Python than
# python3, and PROFILE another profile of cargo than release. With WITH_LIBRARIES=1 the environment is target/venv-libraries, where tests find libraries of several gigabytes; with
# WITH_SPARK=1 it is target/venv-spark, and the tests of `scale` run Spark too, which needs Java. What a test lacks on this machine it says as SKIPPED, and the others run.

set -uo pipefail
cd "$(dirname "$0")" || exit
. ../../scripts/steps.sh

# Found before the environment hides it.
python=$(command -v "${PYTHON:-python3}") || python=${PYTHON:-python3}
venv=$PWD/target/venv${WITH_LIBRARIES:+-libraries}${WITH_SPARK:+-spark}
export PATH=$venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1

# Runs pytest, and counts as the tests of Cargo do.
run_tests() {
    echo "+ pytest $*"
    "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$@" | awk '
        function number(what) { return match($0, "[0-9]+ " what) ? substr($0, RSTART) + 0 : 0 }
        /^SKIPPED \[/ { sub(/^SKIPPED \[[0-9]+\] [^ ]+ /, "SKIPPED: ") }
        { print }
        / in [0-9.]+s/ {
            printf "test result: %d passed; %d failed; 0 ignored\n", number("passed"), number("failed") + number("error")
        }'
}

# ---- The tests -----------------------------------------------------------------------------------

environment() {
    command -v "$python" >/dev/null || cannot_run "there is no $python on this machine"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        cannot_run "$python is $("$python" --version), and the package needs 3.11"
    [[ -x $venv/bin/pip && $("$venv/bin/python" --version) == "$("$python" --version)" ]] ||
        step "$python" -m venv --clear "$venv" || cannot_run "$python cannot make virtual environments"
    step "$venv/bin/pip" install --quiet --requirement tests/requirements.txt ||
        cannot_run "pip cannot install what is in tests/requirements.txt"
    [[ -z ${WITH_LIBRARIES:-} ]] || libraries
}

# Each by itself: what pip cannot install, its tests say as SKIPPED.
libraries() {
    local library
    while read -r library; do
        step "$venv/bin/pip" install --quiet "$library" || echo "SKIPPED: pip cannot install $library"
    done <tests/libraries.txt
}

wheel() {
    rm -rf target/wheels
    # Locked, and for this Python.
    step maturin build --profile "${PROFILE:-release}" --locked --interpreter "$venv/bin/python" --out target/wheels
    step "$venv/bin/pip" install --quiet --force-reinstall target/wheels/treewide-*.whl
}

lints() {
    step cargo fmt --check
    step cargo clippy --release --locked -- -D warnings
    step ruff check .
    step ruff format --check .
}

types() {
    "$venv/bin/python" tests/readme_types.py >target/readme_examples.py
    step mypy python tests/type_cases.py target/readme_examples.py
    step mypy --platform win32 python
    [[ ! -x $venv/bin/pyright ]] || step pyright --pythonpath "$venv/bin/python" python tests/type_cases.py
    # The stubs against what was built.
    step "$venv/bin/python" -m mypy.stubtest treewide --mypy-config-file pyproject.toml --allowlist tests/stubtest.txt --ignore-unused-allowlist
}

package() {
    run_tests tests --ignore tests/scale
}

# PyTorch on processes of gloo, in a folder of its own: other tests run without it. The wheel of PyPI for Linux wants
# gigabytes of CUDA, and gets stand-ins, as nothing here needs a GPU.
torch() {
    # Not a name that `import torch` finds in target/.
    local folder=$PWD/target/of-torch version
    version=$(sed -n 's/^torch==//p' tests/libraries.txt)
    if ! "$venv/bin/python" -c "import torch, safetensors" 2>/dev/null; then
        if [[ ! -e $folder/$version ]]; then
            rm -rf "$folder"
            torch_into "$folder" "$version" || cannot_run "pip cannot install torch $version for this Python and machine"
            touch "$folder/$version"
        fi
        export PYTHONPATH=$folder
        "$venv/bin/python" -c "import torch, safetensors" || cannot_run "torch $version cannot be imported here"
    fi
    run_tests tests/test_torch.py tests/test_dcp.py tests/test_engines.py
}

torch_into() {
    local pip=("$venv/bin/pip" install --quiet --target "$1") of_cpu=https://download.pytorch.org/whl/cpu
    local others=(filelock fsspec jinja2 networkx safetensors setuptools sympy typing-extensions)
    step "${pip[@]}" "${others[@]}" || return
    [[ $(uname) == Linux ]] || { step "${pip[@]}" --no-deps "torch==$2"; return; }
    step "${pip[@]}" --no-deps --retries 0 --timeout 10 --index-url "$of_cpu" "torch==$2" 2>/dev/null && return
    step "${pip[@]}" --no-deps "torch==$2" || return
    PYTHONPATH=$1 "$venv/bin/python" -c "import torch" 2>/dev/null ||
        step "$venv/bin/python" tests/cuda_stand_ins.py "$1/torch/lib"
}

# Stores, engines and rounds. A library that pip cannot install, its tests say as SKIPPED.
scale() {
    step "$venv/bin/pip" install --quiet --requirement tests/scale/requirements.txt ||
        echo "SKIPPED: pip cannot install all of tests/scale/requirements.txt"
    [[ -z ${WITH_SPARK:-} ]] || step "$venv/bin/pip" install --quiet pyspark==4.3.0 ||
        echo "SKIPPED: pip cannot install pyspark"
    local two=()
    # Two files at a time, because they wait a lot for servers, engines and timeouts.
    ! "$venv/bin/python" -c "import xdist" 2>/dev/null || two=(-n 2 --dist loadfile)
    run_tests tests/scale "${two[@]}"
}

# The tests of the package `blake3`, as the registry delivers them.
blake3_suite() {
    local version=1.0.11
    local folder=$PWD/target/blake3-$version
    if [[ ! -e $folder/tests/test_blake3.py ]]; then
        # Pip asks the source for its metadata, for which maturin is there already.
        step "$venv/bin/pip" download --quiet --no-deps --no-binary blake3 --no-build-isolation --dest target "blake3==$version" ||
            cannot_run "pip cannot fetch the source of blake3 $version"
        tar -xzf "target/blake3-$version.tar.gz" -C target
    fi
    PYTHONPATH=tests run_tests -p blake3_suite --rootdir "$folder" "$folder/tests"
}

# ---- Running -------------------------------------------------------------------------------------

words=("$@")
failed=0
run() {
    local name=$1 word code
    if [[ ${#words[@]} -gt 0 && $name != environment && $name != wheel ]]; then
        for word in "${words[@]}"; do [[ $name != *"$word"* ]] || break; done
        [[ $name == *"$word"* ]] || return 0
    fi
    echo "== $name"
    (set -e; "$@") </dev/null
    code=$?
    if ((code == CANNOT_RUN)) && [[ $name == environment ]]; then
        exit "$CANNOT_RUN"
    elif ((code != 0 && code != CANNOT_RUN)); then
        echo "FAILED: $name"
        failed=1
        return 1
    fi
}

run environment
# Before the wheel: pyo3 is compiled for the Python that it finds, so clippy makes the next wheel compile everything again.
run lints
run wheel || exit
run types
run package
run blake3_suite
run torch
run scale
((failed == 0))
