#!/usr/bin/env bash
# Crates from the registry that use `blake3`, each patched to use treewide through `crates/blake3-shim`, as that
# README says; each must pass its own tests.
#
#   scripts/clients.sh NAME...     some, such as bao-0.13.1
#   scripts/clients.sh             all
#   scripts/clients.sh --list      their names
#
# The copies are in target/clients/. A crate that comes with a Cargo.lock is tested with these versions.

set -euo pipefail
cd "$(dirname "$0")/.."

# NAME-VERSION and the options of `cargo test`.
client() {
    case $1 in
        bao-0.12.1 | bao-0.13.1) echo ;;
        bao-tree-0.17.0) echo --all-features ;;
        winter-crypto-0.13.1) echo ;;
        multihash-codetable-0.2.2) echo --all-features ;;
        iroh-blobs-0.104.0) echo --lib ;;
        *) return 1 ;;
    esac
}
readonly ALL=(bao-0.12.1 bao-0.13.1 bao-tree-0.17.0 winter-crypto-0.13.1 multihash-codetable-0.2.2 iroh-blobs-0.104.0)

place=${CARGO_TARGET_DIR:-$PWD/target}/clients
shim=$PWD/crates/blake3-shim

# The folder into which Cargo unpacks NAME-VERSION, which it downloads first where it must.
source_of() {
    local name=${1%-*} version=${1##*-} fetch=$place/fetch
    mkdir -p "$fetch/src"
    touch "$fetch/src/lib.rs"
    printf '[workspace]\n[package]\nname = "fetch"\nedition = "2024"\n[dependencies]\n%s = "=%s"\n' "$name" "$version" \
        >"$fetch/Cargo.toml"
    cargo fetch -q --manifest-path "$fetch/Cargo.toml" >&2
    ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$1"
}

run() {
    local client=$1 options source tree copy=$place/$1
    options=$(client "$client") || { echo "there is no client '$client': use one of ${ALL[*]}" >&2; exit 2; }
    source=$(source_of "$client" | head -n 1)
    rm -rf "$copy"
    cp -r "$source" "$copy"
    cat >>"$copy/Cargo.toml" <<END

[workspace]

[patch.crates-io]
blake3 = { path = "$shim" }

[profile.dev.package.treewide]
opt-level = 3
END
    cd "$copy"
    [[ ! -e Cargo.lock ]] || cargo update -q -p blake3
    # Where the patch does not fit, Cargo takes the real crate.
    tree=$(cargo tree -q --all-features -i blake3)
    echo "$tree"
    [[ ${tree%%$'\n'*} == *"($shim)" ]] || { echo "$client: the patch is not in use" >&2; exit 1; }
    # shellcheck disable=SC2086 # options are words
    CARGO_TARGET_DIR=$place/target cargo test --no-fail-fast $options | tee "$place/$client.log"
    grep -q '^test result: ok. [1-9]' "$place/$client.log" || { echo "$client: no test ran" >&2; exit 1; }
}

[[ ${1:-} != --list ]] || { printf '%s\n' "${ALL[@]}"; exit; }
[[ $# -gt 0 ]] || set -- "${ALL[@]}"
for client in "$@"; do
    echo "== $client"
    (run "$client")
done
