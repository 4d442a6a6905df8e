#!/usr/bin/env bash
# Tests the C libraries: `make check`, or ./check.sh WORD... for the tests whose names contain one of these words.
#
# Builds into target/check. What a test lacks on this machine it says as SKIPPED, and the others run.

set -uo pipefail
cd "$(dirname "$0")" || exit

readonly CANNOT_RUN=77
readonly LIBRARIES=(blake3)
readonly WARNINGS=(-Wall -Wextra -Wpedantic -Werror)
out=$PWD/target/check
prefix=$out/prefix
lib=$prefix/lib
mkdir -p "$out"

step() {
    echo "+ $*"
    "$@"
}

cannot_run() {
    echo "SKIPPED: $*"
    exit "$CANNOT_RUN"
}

need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || cannot_run "there is no $program on this machine"
    done
}

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
        x86_64-*-linux-gnu) sources+=("$official"/*_unix.S) ;;
        *) set -- "$@" -DBLAKE3_NO_AVX512 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_SSE41 -DBLAKE3_NO_SSE2 -DBLAKE3_USE_NEON=0 ;;
    esac
    for file in "${sources[@]}"; do
        if [[ $file == *.c ]]; then set -- -include "$PWD/tests/official_names.h" "$@"; fi
        "$cc" -O3 -fPIC "$@" -c "$file" -o "$folder/official/$(basename "$file").o"
        if [[ $file == *.c ]]; then shift 2; fi
    done
    ar rcs "$folder/official.a" "$folder"/official/*.o
}

# The functions that a header declares.
declared() {
    "${CC:-gcc}" -E -P "$1" | tr '\n' ' ' | grep -oE '\b(blake3|treewide)_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u
}

exported() {
    nm -D --defined-only "$1" | awk '{ print $NF }' | sort
}

# ---- The tests -----------------------------------------------------------------------------------

build() {
    rm -rf "$prefix"
    step make install PREFIX="$prefix"
}

lints() {
    step cargo fmt --check
    step cargo clippy --locked -- -D warnings
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
        step diff <(declared "include/$name.h") <(exported "$lib/lib$name.so")
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

sanitizers() {
    official_library gcc "$out"
    step gcc -O1 -g -std=c11 -fsanitize=address,undefined -fno-sanitize-recover=all "${WARNINGS[@]}" -Iinclude tests/dropin.c \
        "$out/official.a" "$lib/libblake3.a" -o "$out/dropin-sanitized"
    step "$out/dropin-sanitized" 20
}

memory() {
    need valgrind
    official_library gcc "$out"
    step gcc -O1 -g -std=c11 "${WARNINGS[@]}" -Iinclude tests/dropin.c "$out/official.a" "$lib/libblake3.a" -o "$out/dropin-memory"
    step valgrind -q --error-exitcode=1 --leak-check=full --max-stackframe=4000000 "$out/dropin-memory" 500
}

two_rust_libraries() {
    step rustc --edition 2024 -O --crate-type staticlib --crate-name other tests/other_rust.rs -o "$out/libother.a"
    step gcc -std=c11 "${WARNINGS[@]}" -Iinclude tests/two_rust_libraries.c "$lib/libblake3.a" "$out/libother.a" \
        -lpthread -ldl -lm -lgcc_s -o "$out/two"
    step "$out/two"
}

installed() {
    local root=$out/root
    rm -rf "$root"
    step make install DESTDIR="$root" PREFIX=/usr >/dev/null
    step test -e "$root/usr/lib/libblake3.so.0" -a -e "$root/usr/include/blake3.h"
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
}

# ---- Running -------------------------------------------------------------------------------------

words=("$@")
failed=0
run() {
    local name=$1 word code
    if [[ ${#words[@]} -gt 0 && $name != build ]]; then
        for word in "${words[@]}"; do [[ $name != *"$word"* ]] || break; done
        [[ $name == *"$word"* ]] || return 0
    fi
    echo "== $name"
    (set -e; "$@") </dev/null
    code=$?
    if ((code != 0 && code != CANNOT_RUN)); then
        echo "FAILED: $name"
        failed=1
    fi
}

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
run two_rust_libraries
run installed
((failed == 0))
