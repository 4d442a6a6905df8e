#!/usr/bin/env bash
# Builds everything that a release publishes, in target/release-files, and tries each part as a new user would.
#
#   scripts/release.sh --dry-run [PART...]   all parts, or only these; changes and publishes nothing
#   scripts/release.sh PART...               these parts of a release; scripts/release.sh --list names them
#
# It builds a commit: a tree with changes is refused, except with --dry-run. A part that this machine cannot build prints
# SKIPPED and the reason; without --dry-run that is a failure. RELEASE.md has the steps before and after.

set -euo pipefail
# As in the packages: optimised across crates.
export CARGO_PROFILE_RELEASE_LTO=thin
cd "$(dirname "$0")/.."
. scripts/steps.sh

readonly CRATES=(treewide treewide-files treewide-digests treewide-manifest treewide-tensors treewide-gpu treewide-cli) # in the order of dependencies
readonly PARTS=(version licences crates c debian binary python npm swift checksums)

out=$PWD/target/release-files
target=${CARGO_TARGET_DIR:-$PWD/target}
export PATH="$PATH:$HOME/.cargo/bin:$target/tools/bin"

fail() {
    echo "$*" >&2
    exit 1
}

# A folder of a name, below target/, without anything in it.
fresh() {
    rm -rf "target/release-work/$1"
    mkdir -p "target/release-work/$1"
    echo "$PWD/target/release-work/$1"
}

need_target() {
    [[ -d $(rustc --print sysroot)/lib/rustlib/$1/lib ]] || step rustup target add "$1" || cannot_run "rustup has no target $1"
}

# The digest of nothing, which every artefact must print.
readonly NOTHING=af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262

prints_nothing() {
    step test "$("$@" </dev/null | cut -d' ' -f1)" = "$NOTHING"
}

# ---- Parts ---------------------------------------------------------------------------------------

# One version everywhere, and a section of the changelog with a date, which becomes the notes of the release. Without a tag, the
# notes may be what is under "Unreleased".
part_version() {
    need python3
    local notes=$out/NOTES.md
    step scripts/version.py
    # Not every awk counts repetitions.
    local day='[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'
    sed -n "/^## \\[${version//./\\.}\\] - $day\$/,/^## / { /^## /!p; }" CHANGELOG.md >"$notes"
    if ! grep -q . "$notes" && [[ -z $tag ]]; then
        sed -n '/^## \[Unreleased\]$/,/^## / { /^## /!p; }' CHANGELOG.md >"$notes"
    fi
    if ! grep -q . "$notes"; then
        rm "$notes"
        fail "CHANGELOG.md has no section \"## [$version] - YYYY-MM-DD\": write it, from what is under \"Unreleased\""
    fi
    if sed -n '/^## \[Unreleased\]$/,/^## \[[0-9]/p' CHANGELOG.md | grep '^- ' >/dev/null; then
        local left="CHANGELOG.md has entries under \"Unreleased\": move them into the section of $version"
        [[ -z $tag ]] || fail "$left"
        echo "Before a release: $left"
    fi
    [[ -z $tag || $tag == "v$version" ]] || fail "the tag is $tag, and the files have version $version: delete the tag, and tag v$version"
}

part_licences() {
    cargo deny --version >/dev/null 2>&1 || cannot_run "there is no cargo deny: cargo install --locked cargo-deny"
    local it
    for it in . bindings/c bindings/c/full bindings/python; do
        step cargo deny --locked --config "$PWD/deny.toml" --manifest-path "$it/Cargo.toml" check bans licenses sources
    done
    if timeout 20 git ls-remote --quiet https://github.com/RustSec/advisory-db HEAD; then
        step cargo deny --locked --config "$PWD/deny.toml" check advisories
    else
        echo "SKIPPED: advisories: https://github.com/RustSec/advisory-db, which lists them, cannot be reached from here"
    fi
}

# As crates.io gets them, each built from its package alone.
part_crates() {
    local arguments=() it
    for it in "${CRATES[@]}"; do arguments+=(-p "$it"); done
    step cargo package --locked ${dirty:+--allow-dirty} "${arguments[@]}"
    # Not the tag of this release itself.
    it=$(git describe --tags --abbrev=0 --match 'v*' --exclude "v$version" 2>/dev/null || true)
    if cargo semver-checks --version >/dev/null 2>&1 && [[ -n $it ]]; then
        step cargo semver-checks --baseline-rev "$it" "${arguments[@]}"
    else
        echo "SKIPPED: semver-checks: there is no such program, or no earlier tag"
    fi
    for it in "${CRATES[@]}"; do cp "$target/package/$it-$version.crate" "$out"; done
}

# The source of the C libraries, which builds without a registry.
part_c() {
    need make cc pkg-config
    local name=treewide-c-$version work
    work=$(fresh c)
    step make -C bindings/c dist
    cp "bindings/c/target/$name.tar.gz" "$out"
    tar -xzf "$out/$name.tar.gz" -C "$work"
    (
        export CARGO_HOME=$work/no-registry CARGO_NET_OFFLINE=true PKG_CONFIG_PATH=$work/installed/lib/pkgconfig
        unset CARGO_TARGET_DIR
        step make -C "$work/$name" install PREFIX="$work/installed"
        # shellcheck disable=SC2046 # several words
        step cc "$work/$name/bindings/c/examples/sum.c" -o "$work/sum" \
            $(pkg-config --cflags --libs libtreewide) -Wl,-rpath,"$work/installed/lib"
        prints_nothing "$work/sum" /dev/null
    )
}

# The commands of a program, or of one of its commands: the rows of its help.
commands() {
    "$@" --help | sed -n '/^Usage: .*:$/,/^$/p; /^Commands:$/,/^$/p' | sed -n '/^  help /d; s/^  \([a-z]*\)  .*/\1/p'
}

# What follows from the definition of the command line, and from the crates that are linked into it: pages PROGRAM [FEATURES]
pages() {
    local work=target/deb program=$1 it part
    rm -rf "$work" && mkdir -p "$work/man"
    scripts/notices.py crates/treewide-cli ${2:+"$2"} >"$work/THIRD-PARTY"
    "$program" man >"$work/man/treewide.1"
    for it in $(commands "$program"); do
        "$program" man "$it" >"$work/man/treewide-$it.1"
        for part in $(commands "$program" "$it"); do
            "$program" man "$it" "$part" >"$work/man/treewide-$it-$part.1"
        done
    done
    "$program" completions bash >"$work/treewide.bash"
    "$program" completions zsh >"$work/_treewide"
    "$program" completions fish >"$work/treewide.fish"
    {
        echo "treewide ($version-1) unstable; urgency=medium"
        echo
        echo "  * Release $version; CHANGELOG.md of the source has its changes."
        echo
        echo " -- The treewide authors <treewide@users.noreply.github.com>  $(git log -1 --format=%cD)"
    } >"$work/changelog"
    {
        echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
        echo "Upstream-Name: treewide"
        echo "Source: https://github.com/treewide/treewide"
        echo
        echo "Files: *"
        echo "Copyright: The treewide authors"
        echo "License: Expat or Apache-2.0"
        echo
        echo "License: Expat"
        sed 's/^$/./; s/^/ /' LICENSE-MIT
        echo
        echo "License: Apache-2.0"
        echo " On Debian, the text is in /usr/share/common-licenses/Apache-2.0."
    } >"$work/copyright"
}

part_debian() {
    need dpkg-deb
    cargo deb --version >/dev/null 2>&1 || cannot_run "there is no cargo deb: cargo install --locked cargo-deb"
    step cargo build --release --locked -p treewide-cli --features gpu
    pages "$target/release/treewide" gpu
    step cargo deb --locked -p treewide-cli --no-build --output "$out"
    local package=("$out"/treewide_"$version"-*.deb)
    if command -v lintian >/dev/null; then
        # It is not made for Debian's own archive.
        step lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "${package[0]}"
    else
        echo "SKIPPED: lintian: there is no such program: apt-get install lintian"
    fi
    dpkg-deb -c "${package[0]}"
}

# The target of a program that runs alone on this machine.
alone() {
    local machine
    machine=$(rustc -vV | sed -n 's/^host: //p')
    if [[ $machine == *-linux-gnu ]]; then echo "${machine%-gnu}-musl"; else echo "$machine"; fi
}

# One file that needs nothing of the machine. On Linux that is a program without the C library of the system, and without GPUs,
# whose drivers are libraries.
part_binary() {
    local triple program name
    triple=$(alone)
    need_target "$triple"
    # Or it would need Microsoft's library for C.
    export CARGO_TARGET_X86_64_PC_WINDOWS_MSVC_RUSTFLAGS=-Ctarget-feature=+crt-static
    step cargo build --release --locked -p treewide-cli --target "$triple"
    program=$target/$triple/release/treewide
    [[ -e $program ]] || program+=.exe
    prints_nothing "$program" sum -
    name=treewide-$version-$triple
    pages "$program"
    rm -rf "target/release-work/$name" && mkdir -p "target/release-work/$name"
    cp -r "$program" README.md LICENSE-* target/deb/THIRD-PARTY target/deb/man target/deb/treewide.bash target/deb/_treewide target/deb/treewide.fish \
        "target/release-work/$name"
    tar -czf "$out/$name.tar.gz" -C target/release-work "$name"
}

part_python() {
    need python3
    step bindings/python/release.sh "$out"
    local python tools=bindings/python/target/release-tools
    for python in "$tools/bin/python" "$tools/Scripts/python.exe"; do [[ ! -e $python ]] || break; done
    step "$python" -m pip install --quiet twine
    step "$python" -m twine check --strict "$out"/treewide-*.whl "$out"/treewide-"$version".tar.gz
    # Every system makes the source, to install it. That of Linux is published.
    [[ $(uname -s) == Linux ]] || rm "$out/treewide-$version.tar.gz"
}

part_npm() {
    need npm node
    need_target wasm32-unknown-unknown
    local work
    work=$(fresh npm)
    (
        cd bindings/js
        step npm ci --ignore-scripts --no-audit --no-fund
        step npm pack --pack-destination "$out"
        step npx --yes publint@0.3 "$out/treewide-$version.tgz"
        step npx --yes @arethetypeswrong/cli@0.18 --profile esm-only "$out/treewide-$version.tgz"
    )
    (
        cd "$work"
        step npm init -y
        step npm install --no-audit --no-fund "$out/treewide-$version.tgz"
        echo 'import { hashHex } from "treewide"; console.log(hashHex(""));' >nothing.mjs
        prints_nothing node nothing.mjs
        # The quick start of its README.
        # shellcheck disable=SC2016 # marks of Markdown
        awk '/^```$/ && on { exit } on; /^```js$/ { on = 1 }' ../../../bindings/js/README.md >start.mjs
        step node start.mjs
    )
}

part_swift() {
    need make cargo
    local code=0
    # Where there is no Swift 6.2, it makes the bundle and builds no program with it.
    step scripts/swift.sh bundle || code=$?
    [[ $code == 0 || $code == "$CANNOT_RUN" ]] || return "$code"
    cp "$target"/swift/bundle/treewide-swift-*.tar.gz "$out"
}

# The list is made by treewide itself, by the program that is published where there is one, and b3sum reads it.
part_checksums() {
    local files program archive work it
    archive=$out/treewide-$version-$(alone).tar.gz
    if [[ -e $archive ]]; then
        work=$(fresh checksums)
        tar -xzf "$archive" -C "$work" --strip-components 1
        program=$work/treewide
    else
        step cargo build --release --locked -p treewide-cli
        program=$target/release/treewide
    fi
    rm -f "$out/B3SUMS"
    files=$(cd "$out" && printf '%s\n' *)
    [[ $files != '*' ]] || fail "target/release-files is empty: build the other parts first"
    for it in $files; do
        [[ $it == NOTES.md || $it =~ [-_]"$version"([^0-9]|$) ]] || fail "target/release-files/$it is not of version $version: delete it"
    done
    # shellcheck disable=SC2086 # none of these names has blanks
    (cd "$out" && step "$program" sum -o B3SUMS $files && step "$program" check B3SUMS)
    if command -v b3sum >/dev/null; then
        (cd "$out" && step b3sum --check B3SUMS)
    else
        echo "SKIPPED: b3sum: there is no such program: cargo install --locked b3sum"
    fi
}

# ---- Which ---------------------------------------------------------------------------------------

dirty="" wanted=()
case ${1:-} in
    --list) printf '%s\n' "${PARTS[@]}" && exit ;;
    --dry-run) dirty=yes && shift ;;
    "" | -*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
for it in "$@"; do
    [[ " ${PARTS[*]} " == *" $it "* ]] || fail "there is no part \`$it': there are ${PARTS[*]}"
    wanted+=("$it")
done
[[ -z $dirty || $# -gt 0 ]] || wanted=("${PARTS[@]}")
if [[ -z $dirty && -n $(git status --porcelain) ]]; then
    fail "the tree has changes: commit them, or pass --dry-run"
fi

version=$(scripts/version.py)
# What a workflow of GitHub runs for.
tag=""
[[ ${GITHUB_REF_TYPE:-} != tag ]] || tag=$GITHUB_REF_NAME

# What was made of another commit must not get into this release.
mkdir -p target/release-work
mark=target/release-work/made-of
made_of="$(git rev-parse HEAD)${dirty:+ $(git status --porcelain)}"
if [[ -e $mark && $(<$mark) != "$made_of" ]] || [[ ${#wanted[@]} == "${#PARTS[@]}" ]]; then
    echo "Deleting what an earlier run left in target/release-files"
    rm -rf "$out"
fi
mkdir -p "$out"
echo "$made_of" >$mark
failed=() made=()
for it in "${wanted[@]}"; do
    echo "==== $it"
    # Behind `||` a failure would not end the part.
    set +e
    (set -e; "part_$it")
    code=$?
    set -e
    [[ $code == 0 || ($code == "$CANNOT_RUN" && -n $dirty) ]] || failed+=("$it")
    made+=("$out"/*)
done
echo "===="
ls -l "$out"
for it in "${made[@]}"; do
    # Where nothing matched, the pattern itself is there.
    [[ -e $it || $it == */'*' ]] || fail "a later part removed $it"
done
[[ ${#failed[@]} == 0 ]] || fail "failed: ${failed[*]}"
if [[ -n $dirty ]]; then
    echo "Nothing was published. What publishes it: git tag -s v$version && git push origin v$version"
fi
