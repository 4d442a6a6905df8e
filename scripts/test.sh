#!/usr/bin/env bash
# The one test command: installs what it needs, runs its tests, and says what it did.
#
#   scripts/test.sh           what proves the product on this machine, within 10 minutes on two CPUs: the tests of the
#                             Rust crates except for GPUs, with every kernel of this CPU, the C libraries, the Python package
#   scripts/test.sh --rest    what that leaves out: lints, GPUs, each kernel alone, other CPUs and targets, Windows under Wine, JavaScript,
#                             Swift, buckets, each feature alone, Miri, the oldest dependencies, the oldest and the newest Rust
#   scripts/test.sh --all     both
#   scripts/test.sh WORD...   the sections whose names contain one of these words; a word in no name is an
#                             error, and all names are shown
#
# Packages come from apt-get (as root, or with a sudo that needs no password) or Homebrew, toolchains and targets from rustup,
# b3sum from crates.io. Nothing is installed twice. If something cannot be installed, the sections that need it print SKIPPED
# and the reason, and the others run. The output of each section is in target/test-logs/. The last line counts all tests
# of all runs. Two lanes of sections run side by side, and scripts/sections.sh counts them: their seconds overlap, those of CPU do not.

# One file although it is long: it is the list of all sections, and each has a few lines.

set -uo pipefail
cd "$(dirname "$0")/.." || exit

# macOS has a bash of 2007 and lacks GNU's tools: Homebrew has both.
if [[ $(uname) == Darwin ]]; then
    command -v brew >/dev/null || { echo "There is no brew, which brings bash and coreutils: see https://brew.sh" >&2; exit 1; }
    brew list bash coreutils >/dev/null 2>&1 || brew install bash coreutils || exit
    PATH=$(brew --prefix coreutils)/libexec/gnubin:$PATH
    ((BASH_VERSINFO[0] > 4)) || exec "$(brew --prefix)/bin/bash" "scripts/${0##*/}" "$@"
fi

readonly EMULATED=(i686:i386:i386 aarch64:aarch64:arm64 s390x:s390x:s390x) # rustc, qemu, Debian
readonly WASM=wasm32-wasip1
readonly NO_STD=(wasm32-unknown-unknown thumbv7em-none-eabi x86_64-unknown-none)
# Lints only: every system that the code names.
readonly FOREIGN=(x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-linux-android x86_64-unknown-freebsd)
readonly B3SUM_VERSION=1.8.7
readonly ACTIONLINT_VERSION=1.7.12
# Ends a step that hangs. A machine that is ten times slower does not reach it.
readonly STEP_LIMIT=2h

target=${CARGO_TARGET_DIR:-$PWD/target}
logs=$target/test-logs
rust_version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# All sections start from the same environment.
unset RUSTFLAGS RUSTDOCFLAGS TREEWIDE_KERNEL TREEWIDE_TEST_SCALE
export CARGO_TERM_COLOR=never DEBIAN_FRONTEND=noninteractive PATH="$PATH:$HOME/.cargo/bin:/usr/lib/wine" # Debian's wine64
[[ -z ${CI:-} ]] || export CARGO_INCREMENTAL=0

words=("$@") part=plain
case ${1:-} in
    --all | --rest) part=${1#--} words=("${@:2}") ;;
    --*) echo "there is no option $1; there are --all and --rest" >&2; exit 2 ;;
    ?*) part=all ;;
esac

# ---- What sections are made of -------------------------------------------------------------------

. scripts/sections.sh

# A command that counts as one test, unless it runs tests that count themselves.
step() {
    echo "+ $*"
    # In the foreground, so that Ctrl-C reaches it.
    timeout --foreground --kill-after=10 "$STEP_LIMIT" "$@"
}

need_target() {
    [[ -d $(rustc --print sysroot)/lib/rustlib/$1 ]] || cannot_run "rustup has no rustc target $1 here"
}

# --show-output, because tests print how many cases they ran and what they skipped.
run_tests() {
    step cargo test --locked --no-fail-fast "$@" -- --show-output
}

# The kernels that a CPU can run, the best first: kernels FOLDER RUNNER... -- what to build.
# Built as for the tests, so that nothing is built for it alone.
kernels() {
    local folder=$1 runner=()
    shift
    while [[ $1 != -- ]]; do runner+=("$1") && shift; done
    shift
    cargo build -q --locked --example kernels "$@"
    "${runner[@]}" "$folder/debug/examples/kernels" | awk '/ supported$/ { print $1 }'
}

# ---- What is needed ------------------------------------------------------------------------------

packages() {
    local it wanted=(
        gcc libc6-dev ca-certificates curl # to build at all
        util-linux bsdutils procps groff-base # setpriv, script, kill, groff: for tests of the CLI
        strace # a test of the library: what hashing asks of the system
        shellcheck
        make pkg-config # the C libraries
        python3-venv
    )
    if [[ $part != plain ]]; then
        wanted+=(
            g++ # the CUDA kernels, for the CPU and for GPUs
            clang valgrind cmake # the C libraries
            dosfstools # a file system without permissions and inodes, for manifests
            mesa-vulkan-drivers # lavapipe, a Vulkan device that is a program
            mmdebstrap # installs Debian 13, which has Swift, into a folder
        )
        command -v node >/dev/null || wanted+=(nodejs npm) # runs WebAssembly
        chromium --version >/dev/null 2>&1 || wanted+=(chromium) # the npm package in a browser
        if [[ $(uname -m) == x86_64 ]]; then
            wanted+=(qemu-user wine64 gcc-mingw-w64-x86-64)
            for it in "${EMULATED[@]}"; do
                wanted+=("gcc-${it%%:*}-linux-gnu" "libc6-dev-${it##*:}-cross")
            done
        fi
    fi
    need apt-get dpkg-query
    local package missing=() root=() still=""
    for package in "${wanted[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep ' installed$' >/dev/null ||
            missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    echo "missing: ${missing[*]}"
    [[ $(id -u) == 0 ]] || root=(sudo -n)
    local install=("${root[@]}" apt-get install -y --no-install-recommends)
    step "${root[@]}" apt-get update || true # a stale index may do
    if ! step "${install[@]}" "${missing[@]}"; then
        # A package that cannot be installed must not keep the others away.
        for package in "${missing[@]}"; do
            step "${install[@]}" "$package" || still+=" $package"
        done
        [[ -z $still ]] || cannot_run "apt-get cannot install$still"
    fi
}

is_too_old() {
    local version
    version=$(rustc --version | cut -d' ' -f2)
    [[ $(printf '%s\n' "$rust_version" "$version" | sort -V | head -1) != "$rust_version" ]]
}

toolchain() {
    if ! command -v cargo >/dev/null; then
        need curl
        curl --proto '=https' -sSf https://sh.rustup.rs |
            sh -s -- -y --no-modify-path --profile minimal -c clippy -c rustfmt
    fi
    command -v rustup >/dev/null || return 0 # without it, the installed Rust must do
    if is_too_old; then
        step rustup toolchain install stable --no-self-update
    fi
    local it wanted=() still=""
    if ! { cargo clippy --version && cargo fmt --version; }; then
        step rustup component add clippy rustfmt
    fi
    [[ $part != plain ]] || return 0
    for it in "${EMULATED[@]}"; do wanted+=("${it%%:*}-unknown-linux-gnu"); done
    for it in "${wanted[@]}" "$WASM" "${NO_STD[@]}" "${FOREIGN[@]}"; do
        # A target that cannot be installed must not keep the others away.
        (need_target "$it") >/dev/null || step rustup target add "$it" || still+=" $it"
    done
    rustup +nightly component list --installed | grep '^miri' >/dev/null ||
        step rustup toolchain install nightly --profile minimal -c miri -c rust-src --no-self-update || still+=" miri"
    rustup run "$rust_version" rustc --version ||
        step rustup toolchain install "$rust_version" --profile minimal --no-self-update ||
        still+=" $rust_version"
    step rustup toolchain install "$(newest)" --profile minimal --no-self-update || still+=" the newest stable"
    [[ -z $still ]] || cannot_run "rustup cannot install$still"
}

# Not optimised: scripts/bench.sh has one of its own.
real_b3sum() {
    [[ $("$B3SUM" --version 2>&1) == "b3sum $B3SUM_VERSION" ]] ||
        step cargo install b3sum --version "$B3SUM_VERSION" --locked --force --debug --root "$target/tools/debug"
}

# The compiler and the disassembler of CUDA, in the versions that scripts/cuda.py names. It needs no
# GPU, and says itself what is missing.
cuda_tools() {
    need python3
    [[ -x $target/tools/cuda/bin/pip ]] || step python3 -m venv "$target/tools/cuda"
    local wanted
    wanted=$(sed -n 's/^ *pip install \(nvidia-.*\)/\1/p' scripts/cuda.py)
    # shellcheck disable=SC2086 # several packages
    step "$target/tools/cuda/bin/pip" install --quiet --disable-pip-version-check --no-deps $wanted
}

# ---- What is tested ------------------------------------------------------------------------------

formatting() {
    cargo fmt --version || cannot_run "there is no cargo fmt"
    step cargo fmt --all --check
}

scripts() {
    need shellcheck
    step shellcheck -x -P SCRIPTDIR:. scripts/*.sh bindings/{python,js}/*.sh .ci/run
    # It ends before the program that writes to it, which then sometimes fails.
    step test -z "$(grep -rnE '\| *grep -[a-zA-Z]*q' scripts bindings/*/*.{sh,mk} .ci/run)"
}

workflows() {
    need go
    export GOBIN=$target/tools/actionlint-$ACTIONLINT_VERSION
    [[ -x $GOBIN/actionlint ]] || step go install "github.com/rhysd/actionlint/cmd/actionlint@v$ACTIONLINT_VERSION" ||
        cannot_run "$(go version) cannot install actionlint"
    step "$GOBIN/actionlint"
}

prose() {
    need python3 git
    step scripts/version.py
    step python3 scripts/names.py
    step python3 scripts/prose.py
    step python3 scripts/chart.py --check
}

# What the library can do, so that `native` builds it as the sections with all features do.
library_features() {
    sed -n '/^\[features\]/,/^\[[^f]/ s/^\([a-z-]*\) = .*/\1/p' crates/treewide/Cargo.toml
}

lints() {
    cargo clippy --version || cannot_run "there is no cargo clippy"
    step cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
}

features() {
    cargo clippy --version || cannot_run "there is no cargo clippy"
    local name names
    names=$(library_features)
    [[ -n $names ]]
    step cargo clippy --locked -p treewide --no-default-features -- -D warnings
    for name in $names; do
        step cargo clippy --locked -p treewide --no-default-features --features "$name" -- -D warnings
    done
    step cargo clippy --locked -p treewide --features no_avx512,no_avx2,no_sse41,no_sse2,no_neon -- -D warnings
    for name in "" cuda wgpu; do
        step cargo clippy --locked -p treewide-gpu --features "$name" -- -D warnings
    done
}

no_std() {
    need_target "$1"
    step cargo build --locked -p treewide --no-default-features --target "$1"
    step cargo build --locked -p treewide --no-default-features --target "$1" \
        --features serde,zeroize,traits-preview
}

wasm() {
    need_target "$WASM"
    need node
    export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS=-Ctarget-feature=+simd128 TREEWIDE_TEST_SCALE=0.1
    export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/scripts/wasi.mjs"
    # Without optimisations V8 takes minutes.
    run_tests -p treewide --target "$WASM" --release --lib --test kernels
}

wasm_lints() {
    cargo clippy --version || cannot_run "there is no cargo clippy"
    need_target "$WASM"
    export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS=-Ctarget-feature=+simd128
    step cargo clippy --locked -p treewide --target "$WASM" --all-targets -- -D warnings
    step cargo clippy --locked -p treewide-wasm --target "${NO_STD[0]}" --lib -- -D warnings
}

foreign() {
    cargo clippy --version || cannot_run "there is no cargo clippy"
    need_target "$1"
    step cargo clippy --locked -p treewide-cli --features gpu --target "$1" -- -D warnings
    step cargo clippy --locked -p treewide --all-features --target "$1" -- -D warnings
}

# What the command line is for, by a program in a folder of its own: everyday FOLDER PROGRAM...
everyday() {
    local program=("${@:2}") line code
    rm -rf "$1" && mkdir -p "$1" && cp -a docs "$1/manual" && cd "$1" || return
    # shellcheck disable=SC2317 # the lines below call it
    treewide() { "${program[@]}" "$@"; }
    while read -r line; do
        echo "$line"
        code=0
        eval "$line" </dev/null || code=$?
        echo "exit code $code"
    done <<'EOF'
treewide manual/*.md
treewide --tag manual/check.md
echo standard input | treewide sum
treewide sum -r manual -o SUMS; treewide check SUMS
sha256sum manual/check.md | treewide check -
treewide snapshot manual
echo edited >manual/check.md; mv manual/photos.md manual/moved.md; rm manual/scale.md
treewide verify manual.b3
treewide update manual.b3; treewide verify manual.b3
cp -a manual copy; echo new >copy/new; treewide diff manual copy
treewide dupes manual copy
treewide missing copy manual
treewide outboard create manual/files.md
treewide there-is-none
EOF
}

# Tests as programs of Windows, under Wine. Those of the command line start programs of Unix, and stay there; the program itself has to
# write what the one of this system writes to its standard output.
windows() {
    local triple=x86_64-pc-windows-gnu libraries=$target/windows-libraries
    need wine64 x86_64-w64-mingw32-gcc
    need_target "$triple"
    # Rust's standard library takes random numbers from a library that Wine 8, Debian 12's, lacks.
    mkdir -p "$libraries"
    step x86_64-w64-mingw32-gcc -shared -o "$libraries/bcryptprimitives.dll" -x c - -ladvapi32 <<'EOF'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len) { return SystemFunction036(data, len); }
EOF
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine64 WINEDEBUG=-all WINEPATH=Z:$libraries WINEPREFIX=$target/wine
    run_tests --target "$triple" -p treewide --lib --test kernels
    run_tests --target "$triple" -p treewide --features file --lib file::windows
    run_tests --target "$triple" -p treewide-files --lib
    run_tests --target "$triple" -p treewide-digests
    run_tests --target "$triple" -p treewide-manifest --lib
    step cargo test --locked --target "$triple" -p treewide-manifest --test manifest -- keys:: renamed_rot:: verdicts::
    run_tests --target "$triple" -p treewide-cli --lib
    local build=(cargo build --locked -p treewide-cli) folder=$target/everyday
    step "${build[@]}"
    step "${build[@]}" --target "$triple"
    (everyday "$folder/unix" "$target/debug/treewide") >"$target/everyday.unix"
    (everyday "$folder/windows" timeout "$STEP_LIMIT" wine64 "$target/$triple/debug/treewide.exe") >"$target/everyday.windows"
    step grep -q "^exit code 2" "$target/everyday.unix" # of the last line
    step diff "$target/everyday.unix" "$target/everyday.windows"
}

# The newest stable version, by its number: asking for `stable` would update the toolchain in use.
newest() {
    # It has an exit status of its own where there is something newer.
    { rustup check || true; } | sed -nE 's/^stable-.* ([0-9]+\.[0-9]+\.[0-9]+) \(.*/\1/p'
}

# As the machines of users have it, which update Rust.
newest_rust() {
    local version
    version=$(newest)
    rustup run "$version" rustc --version || cannot_run "rustup cannot install the newest stable Rust"
    export RUSTFLAGS="-D warnings"
    step cargo "+$version" check --locked --workspace --all-features --all-targets --target-dir "$target/newest"
}

oldest_rust() {
    rustup run "$rust_version" rustc --version || cannot_run "rustup cannot install $rust_version"
    step cargo "+$rust_version" check --locked --workspace --all-features
}

# The oldest dependencies that the manifest of the library allows, for each feature alone, as for a program that has no other.
oldest_dependencies() {
    rustup run nightly rustc --version || cannot_run "there is no nightly toolchain, which finds the oldest versions"
    local name folder=$target/oldest-dependencies
    mkdir -p "$folder/src" && : >"$folder/src/lib.rs"
    for name in $(library_features); do
        printf '[package]\nname = "oldest"\nedition = "2024"\n[workspace]\n[dependencies]\ntreewide = { path = "%s", features = ["%s"] }\n' \
            "$PWD/crates/treewide" "$name" >"$folder/Cargo.toml"
        step cargo +nightly -Z minimal-versions generate-lockfile --manifest-path "$folder/Cargo.toml"
        step cargo check --locked --manifest-path "$folder/Cargo.toml"
    done
}

# A program under Miri, which runs no assembly.
miri() {
    rustup +nightly component list --installed | grep '^miri' >/dev/null || cannot_run "nightly has no miri"
    local triple
    for triple in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
        MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=$target/miri step cargo +nightly miri test --locked -p treewide \
            --features zeroize --target "$triple" --lib of_a_few
    done
}

documentation() {
    export RUSTDOCFLAGS="-D warnings"
    step cargo doc --locked --workspace --no-deps --all-features
}

known_answers() {
    step cargo run --locked -p treewide-vectors -- --check
}

machine_code() {
    local python=$target/tools/cuda/bin/python
    need "$python"
    step "$python" scripts/cuda.py build --check
    step "$python" scripts/cuda.py census --check
}

# All crates, except for the one for GPUs, which takes half as long to build as all the rest, and the bench. The library has the
# features that it has with --all-features, so that what is built here also serves the sections with GPUs.
native() {
    local features
    features=$(library_features | sed 's|^|treewide/|' | paste -sd,)
    run_tests --workspace --exclude treewide-gpu --exclude treewide-bench --features "$features"
    ! command -v python3 >/dev/null || step python3 scripts/names.py "command line"
}

# The arguments for the integration tests of a crate, in its folder.
tests_of() {
    local file
    for file in "$1"/tests/*.rs; do echo "--test $(basename "$file" .rs)"; done
}

# Tests that GPU features bring, on the twin, what measures, and what is built for the sections after this one. Other devices have a section.
with_gpus() {
    # shellcheck disable=SC2046 # several words
    TREEWIDE_TEST_BACKEND=twin run_tests --workspace --all-features --lib --bins $(tests_of crates/treewide-gpu)
    run_tests --workspace --all-features --test cli device
    # shellcheck disable=SC2046
    run_tests --workspace --all-features $(tests_of dev/bench)
}

# The quick ones; all are in scripts/slow.sh.
clients() {
    step scripts/clients.sh bao-0.13.1 multihash-codetable-0.2.2
}

# A client that leaves the library at the level of its own profile, where this workspace optimises it.
unoptimised() {
    step cargo test --locked -p treewide --profile unoptimised --test vectors
}

# The C libraries, as make builds and installs them. BLAKE3's own C library comes with the crate `blake3`.
readonly C_QUICK="abi headers drop_in official_tests swapped misuse installed examples readme"
capi() {
    need make gcc
    step make -C bindings/c check TESTS="$C_QUICK"
}

# The same with other compilers, under valgrind, and with devices.
capi_rest() {
    need make gcc
    step make -C bindings/c check TESTS=quick
}

# The Python package, as pip installs it. A wheel without optimisation, except for hashing, is built in a fifth of the time.
python_check() {
    need python3
    PROFILE=dev step bindings/python/check.sh "$@"
}

# The Swift package over the C libraries, on the twin and lavapipe, and a new package as README.md has it.
swift_package() {
    step scripts/swift.sh test
    step scripts/swift.sh readme
}

# The npm package: the module, the scripts around it, bundlers, Chromium, and the suites of the packages whose place it takes.
npm_package() {
    step bindings/js/check.sh
    step python3 scripts/names.py JavaScript
}

# Twins of the kernels, CUDA's as C++ for the CPU, and WGSL on a Vulkan device that is a program.
gpu() {
    local drivers=(/usr/share/vulkan/icd.d/lvp_icd*.json)
    if [[ -e ${drivers[0]} ]]; then
        export VK_DRIVER_FILES=${drivers[0]} TREEWIDE_TEST_BACKEND=wgpu
    else
        echo "SKIPPED: there is no lavapipe on this machine"
    fi
    # shellcheck disable=SC2046 # several words
    run_tests --workspace --all-features $(tests_of crates/treewide-gpu)
}

# Tests of the library that ask nothing new of another kernel, or run all kernels themselves: they run once, in `native`.
readonly OF_NO_KERNEL=" allocations file file_memory outboard sigbus stack system_calls "

# Prints the arguments for the tests of kernels: library_tests [TEST TO LEAVE OUT]
library_tests() {
    local file name
    echo --lib
    for file in crates/treewide/tests/*.rs dev/compat/tests/*.rs; do
        name=$(basename "$file" .rs)
        [[ "$OF_NO_KERNEL ${1:-} " == *" $name "* ]] || echo "--test $name"
    done
}

# As built for `with GPUs`, so that no kernel waits for a build. `native` has tested all of them once.
forced() {
    # shellcheck disable=SC2046 # several words
    TREEWIDE_TEST_SCALE=0.25 TREEWIDE_KERNEL=$1 run_tests --workspace --all-features $(library_tests)
}

# Tests that start children, under an emulator: where a process with threads forks, qemu rarely hangs. They run on one
# thread, and again if they hang.
starting_children() {
    local code
    for _ in 1 2 3; do
        echo "+ cargo test $*"
        timeout --kill-after=10 3m cargo test --locked "$@" -- --show-output --test-threads=1 && return
        code=$?
        ((code == 124 || code == 137)) || return "$code"
        echo "A child did not start within three minutes: again."
    done
    return 1
}

emulated() {
    local arch=$1 qemu=qemu-$2 kernel list
    local triple=$arch-unknown-linux-gnu gcc=$arch-linux-gnu-gcc
    local name=${triple//-/_}
    need "$qemu" "$gcc"
    need_target "$triple"
    # An x86-64 runs programs of 32 bits itself.
    if [[ $arch == i686 ]] && "$gcc" -static -x c - -o "$target/$arch" <<<"int main(void) { return 0; }" && "$target/$arch"; then qemu="env"; fi
    # Static, so that the emulator needs no foreign libraries.
    export "CARGO_TARGET_${name^^}_LINKER=$gcc" "CARGO_TARGET_${name^^}_RUNNER=$qemu" "CC_$name=$gcc"
    export "CARGO_TARGET_${name^^}_RUSTFLAGS=-C target-feature=+crt-static"
    export TREEWIDE_TEST_SCALE=0.05
    # The second brings the features of the first, except for files.
    echo "SKIPPED: files: here only for this machine, as under emulators a mapping that shrinks raises no signal"
    local what=(--target "$triple" -p treewide -p treewide-compat)
    list=$(kernels "$target/$triple" "$qemu" -- "${what[@]}")
    [[ -n $list ]]
    for kernel in $list; do
        # shellcheck disable=SC2046 # several words
        TREEWIDE_KERNEL=$kernel run_tests "${what[@]}" $(library_tests kernels)
        TREEWIDE_KERNEL=$kernel starting_children "${what[@]}" --test kernels
    done
    # The order of bytes, the size of a `usize` and the compiler count here, not the kernel. With the same features, or all is built again.
    run_tests "${what[@]}" --test outboard --test stack
}

# ---- What runs -----------------------------------------------------------------------------------

# What sections need: where it cannot be installed, they say so.
install() {
    local log=$logs/$1.log
    echo "$1: looked for"
    (set -e; "${@:2}") </dev/null >"$log" 2>&1 && return
    sed -n "s/^SKIPPED: /SKIPPED in $1: /p" "$log" | grep . || echo "SKIPPED in $1: $(tail -n 1 "$log")"
} >>"$logs/notes"

# Which kernels this CPU can run is known only when they are built; their names are known before.
kernels_to_test() {
    if [[ -n ${listing:-} ]]; then
        find crates/treewide/src/kernel -name '*.rs' -exec \
            sed -nE 's/.*\b[A-Z0-9_]+: "([a-z0-9-]+)", .*/\1/p' {} + | sort -u
    else
        kernels "$target" -- --workspace --all-features
    fi
}

# Lanes run side by side: of each pair, the first has what builds in the folder of the workspace.
plain_workspace() {
    section "native" native
}

plain_packages() {
    section "formatting" formatting
    section "scripts" scripts
    section "prose" prose
    section "capi" capi
    section "python" python_check package blake3_suite
    # It builds in the folder of the other lane, which has built all by now.
    section "known answers" known_answers
}

rest_workspace() {
    section "lints" lints
    section "lints: each feature alone" features
    section "documentation" documentation
    section "with GPUs" with_gpus
    section "GPU devices" gpu
    for it in $(kernels_to_test); do section "kernel $it" forced "$it"; done
    section "unoptimised client" unoptimised
    section "lints: $WASM" wasm_lints
    for it in "${FOREIGN[@]}"; do section "lints: $it" foreign "$it"; done
    section "oldest Rust, $rust_version" oldest_rust
    for it in "${EMULATED[@]}"; do
        IFS=: read -r arch qemu _ <<<"$it"
        section "emulated $arch" emulated "$arch" "$qemu"
    done
    section "wasm" wasm
    for it in "${NO_STD[@]}"; do section "no_std $it" no_std "$it"; done
    section "windows" windows
}

rest_packages() {
    section "workflows" workflows
    section "cuda machine code" machine_code
    section "capi, the rest" capi_rest
    section "python lints" python_check lints types
    # The wheel of PyTorch has 540 MB, and 1.4 GB when it is there.
    section "python torch" python_check torch
    section "scale" python_check scale
    section "npm" npm_package
    section "swift" swift_package
    section "clients" clients
    section "newest Rust" newest_rust
    section "oldest dependencies" oldest_dependencies
    section "miri" miri
}

check_words {plain,rest}_{workspace,packages}
rm -rf "$logs" && mkdir -p "$logs"
install "packages" packages
install "toolchain" toolchain
if ! command -v cargo >/dev/null; then
    echo "There is no cargo, and it cannot be installed: see $logs/toolchain.log" >&2
    exit 1
fi
! is_too_old || export RUSTUP_TOOLCHAIN=stable
export B3SUM=$target/tools/debug/bin/b3sum
install "b3sum" real_b3sum
[[ $part == plain ]] || install "cuda compiler" cuda_tools
[[ -x $B3SUM ]] || unset B3SUM
# Kernels are also compiled at run time, with the NVRTC that programs find.
if nvrtc=$("$target/tools/cuda/bin/python" scripts/cuda.py where 2>/dev/null); then
    export LD_LIBRARY_PATH=$nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

for it in plain rest; do
    [[ $part != "$it" && $part != all ]] || side_by_side "${it}_workspace" "${it}_packages"
done
summary
