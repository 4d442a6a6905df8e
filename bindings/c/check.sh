#!/usr/bin/env bash
# Tests the C libraries.
#
#   ./check.sh           everything, as `make check`
#   ./check.sh --quick   without the tests that take minutes: another way to build, and another machine
#   ./check.sh WORD...   the tests whose names contain one of these words
#
# Builds into target/check. What a test lacks on this machine it says as SKIPPED, and the others run.

set -uo pipefail
cd "$(dirname "$0")" || exit
. ../../scripts/steps.sh

readonly LIBRARIES=(blake3 treewide)
readonly WITH_FEATURES="treewide_(update_parallel|hash_file|update_file|update_file_watched)"
readonly WARNINGS=(-Wall -Wextra -Wpedantic -Werror)
out=$PWD/target/check
prefix=$out/prefix
lib=$prefix/lib
full=$out/full
mkdir -p "$out"

# The tests of two at once would overwrite each other's files: the second one waits.
if command -v flock >/dev/null; then
    exec {alone}>"$PWD/target/check.lock"
    flock "$alone"
fi

# BLAKE3's C library, as Cargo fetches it with the `blake3` crate for the main workspace.
official() {
    local folders=("${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/blake3-1.8.*/c)
    official=${folders[-1]}
    [[ -e $official/blake3.c && -e $official/main.c && -e $official/test.py ]] ||
        cannot_run "Cargo has not fetched BLAKE3's C library, in the crate blake3 1.8: build the main workspace's tests first"
}

# official_library COMPILER FOLDER FLAG...: FOLDER/official.a, with all instruction sets of the compiler's target.
official_library() {
    local cc=$1 folder=$2 file sources
    shift 2
    official
    mkdir -p "$folder/official" && rm -f "$folder"/official/*
    sources=("$official"/{blake3,blake3_dispatch,blake3_portable}.c)
    case $("$cc" -dumpmachine) in
        x86_64-*linux-gnu) sources+=("$official"/*_unix.S) ;;
        *) set -- "$@" -DBLAKE3_NO_AVX512 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_SSE41 -DBLAKE3_NO_SSE2 -DBLAKE3_USE_NEON=0 ;;
    esac
    for file in "${sources[@]}"; do
        if [[ $file == *.c ]]; then set -- -include "$PWD/tests/official_names.h" "$@"; fi
        "$cc" -O3 -fPIC "$@" -c "$file" -o "$folder/official/$(basename "$file").o"
        if [[ $file == *.c ]]; then shift 2; fi
    done
    ar rcs "$folder/official.a" "$folder"/official/*.o
}

# The functions that a header declares: without its comments, and without those of a header that it includes.
declared() {
    sed 's/^#include.*//' "$1" | gcc -E -P -DBLAKE3_API= -DTREEWIDE_API= -x c - | grep -oE '\b(blake3|treewide)_[a-z0-9_]+ ?\(' |
        tr -d ' (' | sort -u
}

exported() {
    nm -D --defined-only "$1" | awk '{ print $NF }' | sort
}

# With a target, as in the Makefile.
in_archive() {
    nm --target="$(ld --print-output-format)" -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort
}

# ---- The tests -----------------------------------------------------------------------------------

# Without a registry: Cargo has an empty folder to look for crates, and no network.
build() {
    local empty=$out/empty-cargo-home
    rm -rf "$prefix" "$empty" && mkdir -p "$empty"
    CARGO_HOME=$empty CARGO_NET_OFFLINE=true step make install PREFIX="$prefix"
}

lints() {
    { cargo clippy --version && cargo fmt --version; } >/dev/null || cannot_run "there is no cargo clippy, or no cargo fmt"
    step cargo fmt --check
    step cargo clippy --locked -- -D warnings
    step cargo clippy --locked --manifest-path full/Cargo.toml --all-features -- -D warnings
    step cargo clippy --locked --manifest-path full/Cargo.toml -p libtreewide_gpu -- -D warnings
    local target
    for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
        if [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]]; then
            step cargo clippy --locked --target $target -- -D warnings
        else
            echo "SKIPPED: rustup has no rustc target $target here"
        fi
    done
}

# The sizes and names that programs rely on. Change tests/abi.txt on purpose, with the SONAME.
abi() {
    need nm
    step gcc -std=c11 "${WARNINGS[@]}" -Iinclude tests/sizes.c -o "$out/sizes"
    {
        "$out/sizes"
        for name in "${LIBRARIES[@]}"; do
            exported "$lib/lib$name.so.0" | sed "s/^/lib$name.so: /"
            readelf -d "$lib/lib$name.so.0" | sed -n "s/.*\(SONAME\|NEEDED\).*\[\(.*\)\]/lib$name.so \1 \2/p"
        done
    } >"$out/abi.txt"
    if [[ $(uname -m) == x86_64 ]]; then step diff -u tests/abi.txt "$out/abi.txt"; fi
    for name in "${LIBRARIES[@]}"; do
        # Functions that only libraries with features have are declared as well.
        step diff <(declared "include/$name.h" | grep -vxE "$WITH_FEATURES") <(exported "$lib/lib$name.so")
        step diff <(in_archive "$lib/lib$name.a") <(exported "$lib/lib$name.so")
    done
}

headers() {
    local compiler standard header
    for header in include/*.h; do
        for compiler in gcc clang; do
            if ! command -v "$compiler" >/dev/null; then
                echo "SKIPPED: there is no $compiler on this machine"
                continue
            fi
            for standard in c89 c99 c11 c17; do
                step "$compiler" -x c -std="$standard" "${WARNINGS[@]}" "-DHEADER=\"$PWD/$header\"" -c tests/header.c -o "$out/header.o"
            done
            for standard in c++11 c++17 c++20; do
                step "$compiler" -x c++ -std="$standard" "${WARNINGS[@]}" "-DHEADER=\"$PWD/$header\"" -c tests/header.c -o "$out/header.o"
            done
        done
    done
    step gcc -std=c11 "${WARNINGS[@]}" -Iinclude tests/hidden.c -L"$lib" -lblake3 -ltreewide -Wl,-rpath,"$lib" -o "$out/hidden"
    step "$out/hidden"
}

drop_in() {
    official_library gcc "$out"
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Iinclude tests/dropin.c "$out/official.a" "$lib/libblake3.a" -o "$out/dropin"
    step "$out/dropin"
    step gcc -O1 -std=c11 "${WARNINGS[@]}" -Iinclude tests/dropin.c "$out/official.a" -L"$lib" -lblake3 -Wl,-rpath,"$lib" -o "$out/dropin-shared"
    step "$out/dropin-shared" 50
}

# Their own tests and examples, unchanged.
official_tests() {
    need python3
    official
    local folder=$out/official-tests/c
    mkdir -p "$folder" "$folder/../test_vectors"
    python3 - ../../vectors/hash.json "$folder/../test_vectors/test_vectors.json" <<'END'
import json, sys
answers = json.load(open(sys.argv[1]))
for case in answers["cases"]:
    case["input_len"] = case.pop("len")
answers["context_string"] = answers.pop("context")
json.dump(answers, open(sys.argv[2], "w"))
END
    cp "$official"/{main.c,test.py,blake3_impl.h,example.c,example_tbb.c} "$folder"
    cp include/blake3.h "$folder"
    step gcc -O1 "$folder/main.c" tests/main_features.c "$lib/libblake3.a" -o "$folder/blake3"
    step python3 "$folder/test.py" 2>/dev/null
    step gcc -O1 "$folder/example.c" -L"$lib" -lblake3 -Wl,-rpath,"$lib" -o "$folder/example"
    step gcc -O1 -DBLAKE3_USE_TBB "$folder/example_tbb.c" -L"$lib" -lblake3 -Wl,-rpath,"$lib" -o "$folder/example_tbb"
    local expected
    expected=$(echo -n abc | "$folder/example")
    step test "$expected" = 6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85
    step test "$("$folder/example" <"$folder/main.c")" = "$("$folder/example_tbb" "$folder/main.c")"
}

# A program that was built with their header and their library finds ours in its place.
swapped() {
    official
    local theirs=$out/swapped
    mkdir -p "$theirs"
    step gcc -O2 -fPIC -fvisibility=hidden -shared -Wl,-soname,libblake3.so.0 \
        -DBLAKE3_NO_AVX512 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_SSE41 -DBLAKE3_NO_SSE2 \
        "$official"/{blake3,blake3_dispatch,blake3_portable}.c -o "$theirs/libblake3.so.0"
    step gcc -O2 -I"$official" "$official/example.c" "$theirs/libblake3.so.0" -o "$theirs/example"
    local ours=$out/swapped-ours
    mkdir -p "$ours" && cp "$lib/libblake3.so.0" "$ours"
    LD_LIBRARY_PATH=$ours ldd "$theirs/example" | step grep -q "$ours/libblake3.so.0"
    local file
    for file in check.sh "$lib/libblake3.a"; do
        step test "$(LD_LIBRARY_PATH=$theirs "$theirs/example" <"$file")" = "$(LD_LIBRARY_PATH=$ours "$theirs/example" <"$file")"
    done
}

beyond() {
    official_library gcc "$out"
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Iinclude tests/beyond.c "$out/official.a" "$lib/libtreewide.a" -o "$out/beyond"
    step "$out/beyond"
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Iinclude tests/beyond.c "$out/official.a" -L"$lib" -ltreewide -Wl,-rpath,"$lib" -o "$out/beyond-shared"
    step "$out/beyond-shared" 50
}

misuse() {
    # The compiler sees the misuse, and would warn.
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Wno-stringop-overread -Iinclude tests/misuse.c "$lib/libblake3.a" "$lib/libtreewide.a" -o "$out/misuse"
    step "$out/misuse"
}

stack() {
    step gcc -O1 -std=c11 "${WARNINGS[@]}" -Iinclude tests/stack.c "$lib/libblake3.a" "$lib/libtreewide.a" -lpthread -o "$out/stack"
    step "$out/stack"
}

sanitizers() {
    official_library gcc "$out"
    local name
    for name in dropin beyond; do
        step gcc -O1 -g -std=c11 -fsanitize=address,undefined -fno-sanitize-recover=all "${WARNINGS[@]}" -Iinclude tests/$name.c \
            "$out/official.a" "$lib/libblake3.a" "$lib/libtreewide.a" -o "$out/$name-sanitized"
        step "$out/$name-sanitized" 20
    done
}

memory() {
    need valgrind
    official_library gcc "$out"
    local name
    for name in dropin beyond; do
        step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Iinclude tests/$name.c "$out/official.a" "$lib/libblake3.a" "$lib/libtreewide.a" \
            -o "$out/$name-memory"
        step valgrind -q --error-exitcode=1 --leak-check=full --max-stackframe=4000000 "$out/$name-memory" 500
    done
}

# Also both of ours.
two_rust_libraries() {
    step rustc --edition 2024 -O --crate-type staticlib --crate-name other tests/other_rust.rs -o "$out/libother.a"
    step gcc -std=c11 "${WARNINGS[@]}" -Iinclude tests/two_rust_libraries.c "$lib/libblake3.a" "$out/libother.a" "$lib/libtreewide.a" \
        -lpthread -ldl -lm -o "$out/two"
    step "$out/two"
}

# What needs a registry: threads, files and GPUs.
with_features() {
    rm -rf "$full"
    step make install FEATURES="parallel,file gpu" PREFIX="$full"
    official_library gcc "$out"
    local name full=$full/lib
    for name in "${LIBRARIES[@]}" treewide_gpu; do
        step diff <(declared "include/$name.h") <(exported "$full/lib$name.so")
        step diff <(in_archive "$full/lib$name.a") <(exported "$full/lib$name.so")
    done
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -DFEATURES -Iinclude tests/beyond.c "$out/official.a" "$full/libtreewide.a" \
        -lpthread -ldl -lm -o "$out/beyond-full"
    step "$out/beyond-full" 10
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Iinclude tests/dropin.c "$out/official.a" "$full/libblake3.a" \
        -lpthread -ldl -lm -o "$out/dropin-full"
    step "$out/dropin-full" 10
    # Two libraries, each with Rust's standard library in it.
    step gcc -std=c11 "${WARNINGS[@]}" -Iinclude tests/two_rust_libraries.c "$full/libblake3.a" "$out/libother.a" "$full/libtreewide.a" \
        -lpthread -ldl -lm -o "$out/two-full"
    step "$out/two-full"
    step gcc -O1 -std=c11 "${WARNINGS[@]}" -DFEATURES -Iinclude tests/stack.c "$full"/lib{blake3,treewide}.a \
        -lpthread -ldl -lm -o "$out/stack-full"
    step "$out/stack-full"
    step gcc -O1 -std=c11 "${WARNINGS[@]}" -Iinclude tests/ends.c "$full/libtreewide.a" -lpthread -ldl -lm -o "$out/ends"
    step gcc -shared -fPIC ../../crates/treewide/tests/lengths.c -o "$out/lengths.so"
    CUT=100 LD_PRELOAD=$out/lengths.so step "$out/ends" "$out"
    step gcc -O1 -std=c11 "${WARNINGS[@]}" -Iinclude tests/no_memory.c "$full/libtreewide.a" -lpthread -ldl -lm -o "$out/no_memory"
    head -c 5000000 /dev/zero >"$out/zeros"
    step "$out/no_memory" "$out/zeros"
    unloaded "$full/libtreewide.so"
    need pkg-config
    # shellcheck disable=SC2046 # several flags
    PKG_CONFIG_PATH=$full/pkgconfig step gcc -static "$official/example.c" -o "$out/static-full" \
        $(PKG_CONFIG_PATH=$full/pkgconfig pkg-config --static --cflags --libs libblake3)
    step "$out/static-full" <check.sh
}

# The library stays after dlclose, and so does its handler of SIGBUS, which hands signals on.
unloaded() {
    local code
    step gcc -O1 -std=c11 "${WARNINGS[@]}" -Iinclude tests/unload.c -ldl -o "$out/unload"
    step "$out/unload" "$1" "$out/zeros" own
    code=0
    # A shell of its own says that it died.
    bash -c '"$@"; exit' - "$out/unload" "$1" "$out/zeros" 2>/dev/null || code=$?
    step test "$code" = $((128 + $(kill -l BUS)))
}

# The commands of README.md, with its programs.
readme() {
    need cmake pkg-config cc
    local folder=$out/readme
    rm -rf "$folder" && mkdir -p "$folder"
    # What one of them reads.
    printf abc >"$folder/README.md"
    block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`/ { /^\`\`\`/!p }" README.md; }
    block c >"$folder/hello.c"
    block cmake >"$folder/CMakeLists.txt"
    block sh | sed "s|bindings/c|$PWD|" >"$folder/commands"
    export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
    (cd "$folder" && HOME=$folder bash -e commands >printed)
    step test "$(grep -cx ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f "$folder/printed")" = 1
    step grep -qx "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85  README.md" "$folder/printed"
}

examples() {
    local name compiler
    for compiler in clang gcc; do
        command -v "$compiler" >/dev/null || continue
        for name in sum many; do
            step "$compiler" -std=c89 "${WARNINGS[@]}" -Iinclude examples/$name.c "$lib/libtreewide.a" -o "$out/$name"
        done
    done
    printf abc >"$out/abc"
    step test "$("$out/sum" "$out/abc")" = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85  $out/abc"
    step test "$("$out/sum" <"$out/abc")" = 6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85
    local errors
    errors=$("$out/sum" "$out/absent" "$out/abc" 2>&1 >/dev/null) && return 1
    step test "$errors" = "sum: $out/absent: No such file or directory"
    "$out/many" ../../vectors/README.md | step grep -c . | step grep -qx "$(wc -l <../../vectors/README.md)"
}

# The driver of a device that is the CPU, in the place of NVIDIA's.
stand_in() {
    need g++
    if ldconfig -p | grep -q libcuda.so.1; then cannot_run "this machine has NVIDIA's driver, and this test has one of its own"; fi
    local kernels=../../crates/treewide-gpu/kernels/cuda/host
    step g++ -std=c++17 -O2 -Wno-unknown-pragmas -U_FORTIFY_SOURCE -shared -fPIC -Wl,-soname,libcuda.so \
        "$kernels/stages.cpp" "$kernels/driver.cpp" -ldl -o "$out/libcuda.so"
}

# The program NAME that docs/gpu.md shows, between the marks of its language.
in_docs() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`/ { /^\`\`\`/!p }" ../../docs/gpu.md
}

gpu() {
    stand_in
    local lib=$full/lib folder=$out/gpu
    mkdir -p "$folder"
    export LD_LIBRARY_PATH=$lib
    step g++ -std=c++17 "${WARNINGS[@]}" -Iinclude examples/device.cpp -L"$lib" -ltreewide_gpu -ltreewide -o "$folder/device"
    {
        "$out/sum" <check.sh
        tail -c +2 check.sh | "$out/sum"
    } >"$folder/expected"
    LD_PRELOAD=$out/libcuda.so step "$folder/device" check.sh >"$folder/printed"
    step diff "$folder/expected" <(sed -n '/^[0-9a-f]\{64\}$/p' "$folder/printed" | head -2)
    # The program of the documentation, with a type of the CUDA runtime.
    echo 'typedef void *cudaStream_t;' >"$folder/cuda_runtime.h"
    {
        in_docs cpp
        cat tests/docs_gpu.cpp
    } >"$folder/docs.cpp"
    step g++ -std=c++17 "${WARNINGS[@]}" -Iinclude -Itests -I"$folder" "$folder/docs.cpp" -L"$lib" -ltreewide_gpu -ltreewide -o "$folder/docs"
    LD_PRELOAD=$out/libcuda.so step "$folder/docs"
    step gcc -std=c11 "${WARNINGS[@]}" -Iinclude tests/misuse_gpu.c -L"$lib" -ltreewide_gpu -o "$folder/misuse"
    LD_PRELOAD=$out/libcuda.so step "$folder/misuse"
}

# Devices of every backend: the twin, and what the drivers find, such as lavapipe.
devices() {
    local folder=$out/devices
    mkdir -p "$folder"
    step gcc -O1 -g -std=gnu11 "${WARNINGS[@]}" -Iinclude tests/devices.c "$full"/lib/lib{treewide_gpu,treewide}.a \
        -lpthread -ldl -lm -o "$folder/devices"
    local drivers=(/usr/share/vulkan/icd.d/lvp_icd*.json)
    if [[ -e ${drivers[0]} ]]; then export VK_DRIVER_FILES=${drivers[0]}; fi
    NODEVICE_SELECT=1 step "$folder/devices" "$folder"
}

# With neither Cargo nor a registry.
plain_rustc() {
    local folder=$out/rustc
    mkdir -p "$folder"
    # With `-C lto` the static library needs no routine of unwinding.
    local flags=(--edition 2024 -C opt-level=1 -C panic=abort -C lto=thin)
    step rustc "${flags[@]}" --crate-name treewide --crate-type rlib -A warnings ../../crates/treewide/src/lib.rs --out-dir "$folder"
    CARGO_PKG_VERSION=0.1.0 step rustc "${flags[@]}" --crate-name treewide_c --crate-type staticlib \
        --extern treewide="$folder/libtreewide.rlib" src/libtreewide.rs -o "$folder/libtreewide.a"
    official_library gcc "$out"
    step gcc -O1 -std=c11 -Iinclude tests/beyond.c "$out/official.a" "$folder/libtreewide.a" -o "$folder/beyond"
    step "$folder/beyond" 50
}

# Big-endian.
emulated() {
    local triple=s390x-unknown-linux-gnu cross=s390x-linux-gnu- name folder=$out/s390x
    need ${cross}gcc qemu-s390x
    [[ -d $(rustc --print sysroot)/lib/rustlib/$triple ]] || cannot_run "rustup has no rustc target $triple here"
    step make TARGET=$triple CROSS=$cross
    official_library ${cross}gcc "$folder"
    for name in dropin beyond; do
        step ${cross}gcc -O1 -std=c11 -static "${WARNINGS[@]}" -Iinclude tests/$name.c "$folder/official.a" \
            target/$triple/release/lib/lib{blake3,treewide}.a -o "$folder/$name"
        step qemu-s390x "$folder/$name" 200
    done
}

# found OPTIONS...: whether CMake's find_package(blake3 OPTIONS) finds the installed package, in a program with pointers of
# $pointer bytes.
# shellcheck disable=SC2016 # a variable of CMake
found() {
    printf 'cmake_minimum_required(VERSION 3.19)\nproject(versions %s)\nset(CMAKE_SIZEOF_VOID_P %s)\nfind_package(blake3 %s CONFIG QUIET)\n%s\n' \
        NONE "$pointer" "$*" 'message(STATUS "found ${blake3_FOUND}")' >"$out/versions/CMakeLists.txt"
    cmake -S "$out/versions" -B "$out/versions/build" -DCMAKE_PREFIX_PATH="$prefix" | grep >/dev/null 'found \(1\|TRUE\)$'
}

# As BLAKE3's own package answers.
cmake_answers() {
    local wanted pointer=8
    mkdir -p "$out/versions"
    for wanted in "" 1 1.8 1.8.7 "1.8.7 EXACT" 1.0...1.9 "1.2...<2" 1.8...1.8.7 "1 OPTIONAL_COMPONENTS none"; do
        # shellcheck disable=SC2086 # several words
        step found $wanted
    done
    for wanted in 0.9 1.9 1.8.8 2 "1.8 EXACT" 1.0...1.5 "1.0...<1.8.7" 1.8...2 0.1...1.9 "1.9...<2" "1 COMPONENTS none"; do
        # shellcheck disable=SC2086 # several words
        if step found $wanted; then return 1; fi
    done
    pointer=4
    if step found 1.8; then return 1; fi
}

installed() {
    local root=$out/root name
    rm -rf "$root"
    step make install DESTDIR="$root" PREFIX=/usr >/dev/null
    step test -e "$root/usr/lib/libblake3.so.0" -a -e "$root/usr/include/blake3.h"
    # Also with a umask that hides new files, and with a target and profile in the user's configuration.
    rm -rf "$root"
    mkdir -p "$out/cargo-home"
    printf '[build]\ntarget = "no-such-target"\n[profile.release]\npanic = "unwind"\n' >"$out/cargo-home/config.toml"
    (umask 077 && CARGO_HOME=$out/cargo-home step make install DESTDIR="$root" PREFIX=/usr >/dev/null)
    step test -z "$(find "$root/usr" \( -type f ! -perm 644 ! -name '*.so.0' -o -name '*.so.0' ! -perm 755 -o -type d ! -perm 755 \) -print)"
    step make uninstall DESTDIR="$root" PREFIX=/usr >/dev/null
    step test -z "$(find "$root" ! -type d -print)"
    step grep -q "PREFIX=here .*name an absolute folder" <(make install PREFIX=here 2>&1)
    # One version in quotes: programs take any for that of BLAKE3, such as ccache.
    step test "$(grep -cE '^#define [A-Z0-9_]+ "' include/blake3.h)" = 1
    if [[ $(uname -m) == x86_64 ]]; then
        for name in "${LIBRARIES[@]}"; do
            readelf -n "$lib/lib$name.so" | step grep -q SHSTK
            readelf -n "$lib/lib$name.a" | step grep -q SHSTK
        done
    fi
    official
    if command -v pkg-config >/dev/null; then
        export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
        # shellcheck disable=SC2046 # several flags
        step gcc "$official/example.c" -o "$out/with-pkg-config" $(pkg-config --cflags --libs libblake3)
        LD_LIBRARY_PATH=$prefix/lib step "$out/with-pkg-config" <check.sh
        # shellcheck disable=SC2046 # several flags
        step gcc -static "$official/example.c" -o "$out/with-pkg-config" $(pkg-config --static --cflags --libs libblake3)
        step "$out/with-pkg-config" <check.sh
    else
        echo "SKIPPED: there is no pkg-config on this machine"
    fi
    need cmake
    rm -rf "$out/cmake" && mkdir -p "$out/cmake"
    cat >"$out/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(example C CXX)
set(CMAKE_CXX_STANDARD 11)
find_package(blake3 1.8 CONFIG REQUIRED)
foreach(library BLAKE3::blake3 BLAKE3::blake3_static)
    string(MAKE_C_IDENTIFIER \${library} name)
    add_executable(\${name} "$official/example.c")
    target_link_libraries(\${name} PRIVATE \${library})
    get_target_property(features \${library} INTERFACE_COMPILE_FEATURES)
    if(features)
        message(FATAL_ERROR "\${library} forces \${features} on its users")
    endif()
endforeach()
END
    step cmake -S "$out/cmake" -B "$out/cmake/build" -DCMAKE_PREFIX_PATH="$prefix"
    step cmake --build "$out/cmake/build"
    step "$out/cmake/build/BLAKE3__blake3" <check.sh
    step "$out/cmake/build/BLAKE3__blake3_static" <check.sh
    cmake_answers
    # Moved, to a folder with a blank: nothing points to where it was.
    local moved="$out/moved & elsewhere" was=$out/was
    rm -rf "$moved" "$was" "$out/cmake/build"
    CARGO_BUILD_TARGET=no-such-target step make install PREFIX="$was" >/dev/null
    mv "$was" "$moved"
    step cmake -S "$out/cmake" -B "$out/cmake/build" -DCMAKE_PREFIX_PATH="$moved"
    step cmake --build "$out/cmake/build"
    step "$out/cmake/build/BLAKE3__blake3" <check.sh
    need pkg-config
    export PKG_CONFIG_PATH=$moved/lib/pkgconfig
    points_there() {
        local flags
        eval "flags=($(pkg-config "$@" --cflags --libs libblake3))"
        step test "${flags[0]} ${flags[1]}" = "-I$moved/include -L$moved/lib"
    }
    points_there --define-prefix
    # Installed to such a folder.
    rm -rf "$moved"
    step make install PREFIX="$moved" >/dev/null
    points_there
}

# ---- No test -------------------------------------------------------------------------------------

# Samples of these libraries and of BLAKE3's, without features and then with threads, to descriptor 3.
bench() {
    official_library gcc "$out"
    step gcc -O2 -std=c99 -Iinclude bench/bench.c "$out/official.a" "$lib/libblake3.a" "$lib/libtreewide.a" -o "$out/bench"
    "$out/bench" "${SECONDS_EACH:-1}" >&3
    step make FEATURES=parallel
    local with_tbb=()
    if ! echo '#include <oneapi/tbb/parallel_invoke.h>' | g++ -E -x c++ - >/dev/null 2>&1; then
        echo "SKIPPED: theirs with TBB, as there is no g++ or no oneTBB (libtbb-dev) on this machine"
        step cp "$out/official.a" "$out/official-threads.a"
    else
        official_library gcc "$out/tbb" -DBLAKE3_USE_TBB
        step g++ -O3 -fno-exceptions -fno-rtti -DBLAKE3_USE_TBB -DTBB_USE_EXCEPTIONS=0 -c "$official/blake3_tbb.cpp" -o "$out/tbb/tbb.o"
        step cp "$out/tbb/official.a" "$out/official-threads.a"
        step ar rs "$out/official-threads.a" "$out/tbb/tbb.o"
        with_tbb=(-ltbb -lstdc++)
    fi
    step gcc -O2 -std=c99 ${with_tbb:+-DTBB} -Iinclude bench/bench.c "$out/official-threads.a" full/target/release/lib/lib{blake3,treewide}.a \
        "${with_tbb[@]}" -lpthread -ldl -lm -o "$out/bench-threads"
    "$out/bench-threads" "${SECONDS_EACH:-1}" threads >&3
}

# ---- Running -------------------------------------------------------------------------------------

quick=no
if [[ ${1:-} == --quick ]]; then
    quick=yes
    shift
fi
words=("$@")
failed=0
run() {
    local name=$1 word code
    if [[ ${#words[@]} -gt 0 && $name != build ]]; then
        for word in "${words[@]}"; do [[ $name != *"$word"* ]] || break; done
        [[ $name == *"$word"* ]] || return 0
    fi
    local started=$SECONDS
    (set -e; "$@") </dev/null
    code=$?
    echo "== $name: $((SECONDS - started)) s"
    if ((code != 0 && code != CANNOT_RUN)); then
        echo "FAILED: $name"
        failed=1
    fi
}

if [[ ${1:-} == bench ]]; then
    # Only samples go to standard output.
    { run build && run bench; } 3>&1 >&2
    exit "$failed"
fi
run build
((failed == 0)) || exit
run lints
run abi
run headers
run drop_in
run official_tests
run swapped
run sanitizers
run memory
run beyond
run misuse
run stack
run two_rust_libraries
run installed
run with_features
run examples
run readme
run gpu
run devices
if [[ $quick == no ]]; then
    run plain_rustc
    run emulated
fi
((failed == 0))
