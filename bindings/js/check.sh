#!/usr/bin/env bash
# Builds and tests the npm package: ./check.sh. The browser is that of the machine; without one its tests print SKIPPED.

set -uo pipefail
cd "$(dirname "$0")" || exit
. ../../scripts/steps.sh

need node npm
# The package needs 20.16 or 22.3, and tests also `require` it.
node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)' ||
    cannot_run "node is $(node --version), and the tests need 20.19 or 22.12, whose require takes ES modules"
[[ -d $(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown ]] ||
    cannot_run "rustup has no rustc target wasm32-unknown-unknown here"

# Installed packages are not fetched again.
install() {
    [[ $1/node_modules/.package-lock.json -nt $1/package-lock.json ]] ||
        step npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund
}
for folder in . peers; do
    install "$folder" || cannot_run "npm cannot install what is in js/$folder/package-lock.json"
done

step node build.mjs || exit
# Counts as the tests of Cargo do.
step node --test --test-reporter=tap test/*.test.mjs | awk '
    function rest(mark) { return substr($0, index($0, mark) + length(mark)) }
    / # SKIP / { print "SKIPPED: " rest(" # SKIP ") }
    { print }
    $1 == "#" && $2 == "pass" { passed = $3 }
    $1 == "#" && $2 == "fail" { failed += $3 }
    $1 == "#" && $2 == "cancelled" { failed += $3 }
    $1 == "#" && $2 == "skipped" { skipped = $3 }
    END {
        printf "test result: %d passed; %d failed; %d ignored\n", passed, failed, skipped
        exit failed > 0 || passed == 0
    }'
