#!/usr/bin/env bash
# Builds, tests and packs the Swift package in bindings/swift/.
#
#   scripts/swift.sh native       the C libraries, and files for pkg-config that find them
#   scripts/swift.sh build        the package
#   scripts/swift.sh test [ARG]   its tests; further arguments are those of `swift test`
#   scripts/swift.sh bench [MS]   the measurements, with a time for each row: lines of JSON for treewide-bench
#   scripts/swift.sh readme       the commands, package and program of bindings/swift/README.md
#   scripts/swift.sh bundle       a package with the C libraries in it, as artifact bundles (SE-0482), and a program that uses it
#   scripts/swift.sh apple        static libraries for Macs with Apple silicon, compiled and never run
#   scripts/swift.sh run CMD...   a command where `swift` is
#
# Uses the `swift` on the PATH if it is 6.0 or newer. Otherwise, as root on Debian or Ubuntu, it installs Debian 13 with
# Swift into target/swift/debian13, once: 500 MB to fetch, 2.7 GB on the disk. SWIFT_DEBIAN=sid takes Debian's next release,
# in a folder of its own, whose Swift is 6.2 or newer: programs that use bundles need that. Exits with 77, and says why, where no Swift can be
# had.

set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh

readonly ALL_AT_ONCE=4fa6e4d5094f46ae5205f582cb09586cec2917adb95df1708581f48221613ac5 # its digest
release=${SWIFT_DEBIAN:-debian13}
suite=$release
[[ $release != debian13 ]] || suite=trixie
target=${CARGO_TARGET_DIR:-$PWD/target}/swift
tree=$target/$release
native=$target/native
capi=bindings/c
version=$(sed -n 's/^.define TREEWIDE_VERSION "\(.*\)"/\1/p' $capi/include/treewide.h)
mkdir -p "$target"

# Not to standard output, which `readme` and others read.
step() {
    echo "+ $*" >&2
    "$@"
}

# ---- Where Swift comes from ----------------------------------------------------------------------

is_new() {
    local found
    found=$("$@" --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+)\..*/\1/p' | head -1)
    [[ -n $found && $found -ge 6 ]]
}

has_swift() {
    [[ -z ${SWIFT_DEBIAN:-} ]] && command -v swift >/dev/null && is_new swift
}

make_tree() {
    [[ ! -e $tree/complete ]] || return 0
    [[ $(uname -s) == Linux && $(id -u) == 0 ]] || cannot_run "there is no Swift 6.0 on the PATH, and Debian's is installed as root on Linux only"
    need unshare
    command -v mmdebstrap >/dev/null || cannot_run "there is no Swift 6.0 on the PATH, and no mmdebstrap to install Debian's"
    unshare --mount true || cannot_run "there is no Swift 6.0 on the PATH, and this container may not mount /proc for Debian's"
    rm -rf "$tree"
    # The clock of a machine may be ahead of its mirror.
    local options=(--aptopt='Acquire::Check-Valid-Until "false"' --variant=apt --components=main) it
    for it in doc man locale info; do options+=(--dpkgopt="path-exclude=/usr/share/$it/*"); done
    # Swift, the C library, and a Vulkan device that is a program.
    options+=(--include="swiftlang,libc6-dev,libstdc++-14-dev,mesa-vulkan-drivers")
    step mmdebstrap "${options[@]}" "$suite" "$tree" "$(mirror)" || cannot_run "Debian's Swift cannot be installed"
    touch "$tree/complete"
}

# Where this machine gets Debian from.
mirror() {
    local found
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(https?:[^ ]*\/debian\/?)( .*)?$/\3/p' | head -1)
    echo "${found:-http://deb.debian.org/debian}"
}

# Runs a command where Swift is: in the tree with /proc and our folders, which are mounted for this command alone.
with_swift() {
    if has_swift; then
        "$@"
        return
    fi
    make_tree
    local folders=("$PWD" "$target" "${extra[@]}")
    # shellcheck disable=SC2016 # for the other shell
    unshare --mount --propagation private bash -ec '
        tree=$1 here=$2 count=$3
        shift 3
        mount --rbind /proc "$tree/proc"
        mount --rbind /dev "$tree/dev"
        mount --rbind /sys "$tree/sys"
        for ((; count > 0; count--)); do
            mkdir -p "$tree$1"
            mount --bind "$1" "$tree$1"
            shift
        done
        exec chroot "$tree" env -C "$here" HOME=/root "$@"
    ' - "$tree" "${here:-$PWD}" "${#folders[@]}" "${folders[@]}" "$@"
}

# Folders outside of this repository that a command needs, and the folder that it runs in.
extra=()
here=

# ---- The C libraries -----------------------------------------------------------------------------

# Made as for C, with all features. Only the static ones, so that programs need nothing at run time.
native() {
    need make cargo
    step make --no-print-directory -C $capi FEATURES="parallel file gpu" >&2
    mkdir -p "$native/lib/pkgconfig"
    local name
    for name in treewide treewide_gpu; do
        cp $capi/full/target/release/lib/lib$name.a "$native/lib"
        cat >"$native/lib/pkgconfig/lib$name.pc" <<END
libdir=\${pcfiledir}/..
Name: lib$name
Description: BLAKE3 by treewide
Version: $version
Libs: -L\${libdir} -l$name -lpthread -ldl -lm
END
    done
    export PKG_CONFIG_PATH=$native/lib/pkgconfig
}

package() {
    local command=$1
    shift
    step with_swift swift "$command" --package-path bindings/swift --scratch-path "$target/build-$release" "$@"
}

# A new package that depends on this one by its path, as bindings/swift/README.md shows.
readme() {
    local folder=$target/readme readme=bindings/swift/README.md
    rm -rf "$folder" && mkdir -p "$folder/Sources/hello"
    # block LANGUAGE NUMBER
    block() { awk -v mark="\`\`\`$1" -v number="$2" '/^```/ { inside = $0 == mark && ++count == number; next } inside' $readme; }
    # This script may have another folder than target.
    eval "$(block sh 1 | sed "s|\$PWD/target/swift|$target|")"
    block swift 1 | sed "s|…/|$PWD/|" >"$folder/Package.swift"
    block swift 2 >"$folder/Sources/hello/main.swift"
    here=$folder
    step with_swift swift run | tee "$folder/printed"
    [[ $(wc -l <"$folder/printed") == 2 && $(head -1 "$folder/printed") == "$ALL_AT_ONCE" ]]
    [[ $(tail -1 "$folder/printed") =~ ^[0-9a-f]{64}$ ]]
}

# bundle_of NAME LIBRARY: an artifact bundle with a static library, its header and its module map.
bundle_of() {
    local name=$1 library=$2 folder=$package/$1.artifactbundle triple
    triple=$(uname -m)-unknown-linux-gnu
    mkdir -p "$folder/$triple" "$folder/include"
    cp "$native/lib/lib$library.a" "$folder/$triple"
    # The library has a path here, and needs no -l. Debian's Swift calls the system "pc", others "unknown".
    sed '/link "/d' "bindings/swift/Sources/$name/module.modulemap" >"$folder/include/module.modulemap"
    cat >"$folder/info.json" <<END
{
  "schemaVersion": "1.0",
  "artifacts": {
    "$name": {
      "type": "staticLibrary",
      "version": "$version",
      "variants": [
        {
          "path": "$triple/lib$library.a",
          "supportedTriples": ["$triple", "$(uname -m)-pc-linux-gnu"],
          "staticLibraryMetadata": { "headerPaths": ["include"], "moduleMapPath": "include/module.modulemap" }
        }
      ]
    }
  }
}
END
}

# The package for those who have no Rust: unpack it, or keep it in a repository of its own, and depend on it.
bundle() {
    local package=$target/bundle/treewide-swift
    rm -rf "$target/bundle" && mkdir -p "$package/Sources"
    cp -r bindings/swift/Sources/{Treewide,TreewideGPU} "$package/Sources"
    bundle_of CTreewide treewide
    cp $capi/include/treewide.h bindings/swift/Sources/CTreewide/values.h "$package/CTreewide.artifactbundle/include"
    # It includes treewide.h of the other bundle, so that there is one module with each type.
    bundle_of CTreewideGPU treewide_gpu
    cp $capi/include/treewide_gpu.h "$package/CTreewideGPU.artifactbundle/include"
    cp LICENSE-MIT LICENSE-APACHE "$package"
    {
        scripts/notices.py $capi/full/libtreewide "parallel file"
        scripts/notices.py $capi/full/libtreewide_gpu
    } >"$package/THIRD-PARTY"
    cat >"$package/Package.swift" <<'END'
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "treewide-swift",
    products: [
        .library(name: "Treewide", targets: ["Treewide"]),
        .library(name: "TreewideGPU", targets: ["TreewideGPU"]),
    ],
    targets: [
        .binaryTarget(name: "CTreewide", path: "CTreewide.artifactbundle"),
        .binaryTarget(name: "CTreewideGPU", path: "CTreewideGPU.artifactbundle"),
        .target(name: "Treewide", dependencies: ["CTreewide"]),
        .target(name: "TreewideGPU", dependencies: ["Treewide", "CTreewide", "CTreewideGPU"]),
    ]
)
END
    tar -C "$target/bundle" -czf "$target/bundle/treewide-swift-$version-$(uname -m)-linux.tar.gz" treewide-swift
    ls -l "$target"/bundle/*.tar.gz
}

# A program in a package of its own that depends on the bundle.
use_bundle() {
    local folder=$target/use-bundle
    unset PKG_CONFIG_PATH
    rm -rf "$folder" && mkdir -p "$folder/Sources/hello"
    cat >"$folder/Package.swift" <<END
// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "hello",
    dependencies: [.package(path: "$target/bundle/treewide-swift")],
    targets: [
        .executableTarget(
            name: "hello",
            dependencies: [
                .product(name: "Treewide", package: "treewide-swift"), .product(name: "TreewideGPU", package: "treewide-swift"),
            ])
    ]
)
END
    cat >"$folder/Sources/hello/main.swift" <<'END'
import Foundation
import Treewide
import TreewideGPU

let data = Data("all at once".utf8)
print(BLAKE3.hash(data))
print(try BLAKE3GPU.makeContext(device: .twin).makeBuffer(input: data).hash())
print(try await BLAKE3File.hashAsync(path: "Package.swift") == BLAKE3.hash(Data(contentsOf: URL(fileURLWithPath: "Package.swift"))))
END
    here=$folder
    step with_swift swift run | tee "$folder/printed"
    [[ $(<"$folder/printed") == "$ALL_AT_ONCE"$'\n'"$ALL_AT_ONCE"$'\n'true ]]
}

# Compiled, and searched for the functions of the headers. Linking and running need a Mac.
apple() {
    local triple=aarch64-apple-darwin nm=llvm-nm name library missing
    need cargo
    [[ $(uname -s) != Darwin ]] || nm="nm"
    command -v $nm >/dev/null || nm=$(compgen -c llvm-nm- | sort -V | tail -1)
    [[ -n $nm ]] || cannot_run "there is no llvm-nm on this machine"
    [[ -d $(rustc --print sysroot)/lib/rustlib/$triple ]] || cannot_run "rustup has no rustc target $triple here"
    for library in libtreewide libtreewide_gpu; do
        local features=()
        [[ $library != libtreewide ]] || features=(--features "parallel file")
        step cargo rustc --release --locked --manifest-path $capi/full/Cargo.toml --target-dir "$target/apple-build" \
            --target $triple -p $library "${features[@]}" --crate-type staticlib
        mkdir -p "$target/apple"
        cp "$target/apple-build/$triple/release/$library.a" "$target/apple"
        name=${library#lib}
        # A function of C has an underscore before its name there.
        missing=$(comm -23 <(sed 's/^#include.*//' "$capi/include/$name.h" | gcc -E -P -DTREEWIDE_API= -x c - |
            grep -oE '\btreewide_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u) \
            <($nm -g --defined-only "$target/apple/$library.a" 2>/dev/null | sed -n 's/.* T _//p' | sort -u))
        if [[ -n $missing ]]; then
            echo "$library.a lacks $missing"
            return 1
        fi
        ls -l "$target/apple/$library.a"
    done
    echo "never run: no Mac has linked these libraries"
}

command=${1:-}
[[ -z $command ]] || shift
case $command in
    native)
        native
        echo "export PKG_CONFIG_PATH=$native/lib/pkgconfig"
        ;;
    build)
        native
        package build "$@"
        ;;
    test)
        native
        # All tests are XCTest's.
        package test --disable-swift-testing "$@"
        ;;
    bench)
        native
        package build -c release --product treewide-swift-bench >&2
        with_swift "$target/build-$release/release/treewide-swift-bench" "$@"
        ;;
    readme)
        readme
        ;;
    bundle)
        native
        bundle
        with_swift swift --version 2>&1 | grep -E 'Swift version (6\.([2-9]|[1-9][0-9])|[7-9]|[1-9][0-9])' >/dev/null ||
            cannot_run "a program with the bundle: it needs Swift 6.2, such as that of SWIFT_DEBIAN=sid"
        use_bundle
        ;;
    apple)
        apple
        ;;
    run)
        extra+=("$PWD")
        with_swift "$@"
        ;;
    *)
        sed -n '2,/^$/ s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac
