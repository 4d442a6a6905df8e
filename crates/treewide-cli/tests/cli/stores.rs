//! `treewide check` with stores: those in `tests/stores.tar.xz`, which real programs have made, and some that are laid by hand.

use crate::support::{Folder, find_program, is_root, skip};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores.tar.xz");

/// Texts that stand for others in cases: `{M}` is the first.
const WORDS: &[(&str, &str)] = &[
    ("{R}", "hf-cache-2x/models--org--toy"),
    ("{N}", "hf-cache-2x/models--org--toy/snapshots/0123456789abcdef0123456789abcdef01234567"),
    ("{W}", "hf-local-dir/.cache/huggingface/download"),
    ("{B}", "oci-layout/blobs/sha256"),
    ("{V}", "r/docker/registry/v2"),
    // A manifest of OCI, its configuration and its layers.
    ("{M}", "fd0c0d152f07f766e27e93938e043f8ec6825c79c1b67bea2679c36d49a8a553"),
    ("{C}", "463e147586a167f7db18d736a862d1934fbc0c02e7e337dbf6583881dd5956a8"),
    ("{L}", "4512a988125ab049daeebed05226c8cfc90f70078116d7a712699a9493c208d9"),
    ("{S}", "cf7fa79552306993f4bdeba76a6f0327ccba7ab752b561339ee77c69cd0bf5a4"),
    ("{O}", "f664b5ebce05a4639a4a18e4478ba321bfd709e17b3127e6e667cca9002e1f93"),
    ("{BIG}", "58/5863d05a400708642ec694f4ccd255b54fb37c503f1a76ce58de74d4b7091be6"),
    // Digests of `x`.
    ("{X}", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"),
    ("{X3}", "741efa311f97686956946758e0d95f70f11ff2da4f2feb7c54314f44134ac49f"),
    (
        "{X512}",
        "d4448c49562d828115d13a1fccea927f52b4d5459297f8b43e42da89238bc13626e43dcb38ddb082488927ec904fb42057443983e88585179d50551afe62",
    ),
    (
        "{I}",
        "sha512-pKvURIxJVi2CgRXROh/M6pJ/UrTVRZKX+LQ+QtqJI4vBNibkPcs43bCCSIkn7JBPtCBXRDmD6IWFF51QVRr+Yg==",
    ),
    ("{Z}", "0000000000000000000000000000000000000000000000000000000000000000"),
    ("{A}", "abababababababababababababababababababababababababababababababab"),
    ("{D}", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
    ("{D40}", "0123456789abcdef0123456789abcdef01234567"),
    ("{NOT}", "not understood: may name objects that were not looked for:"),
];

/// Functions of bash that cases have.
const SHELL: &str = r#"set -e
put() { mkdir -p "$(dirname "$1")"; printf %s "$2" > "$1"; }
out() { mkdir -p aside; mv "$1" aside/; ln -s "$PWD/aside/$(basename "$1")" "$1"; }
sums() { find . -type f ! -name sums -exec sha256sum {} + > sums; }
index() { printf '{"manifests":[{"mediaType":"%s","digest":"sha256:%s","size":%s}]}' "$@" > oci-layout/index.json; }
ollama() { mkdir -p "$1/manifests"; put "$1/blobs/sha256-{X}" "$2"; }
oci() { mkdir -p "$1/blobs/sha256"; put "$1/oci-layout" '{"imageLayoutVersion":"1.0.0"}'; put "$1/blobs/sha256/{X}" x
    put "$1/index.json" '{"manifests":[{"mediaType":"'"$2"'","digest":"sha256:{X}","size":1}]}'; }
"#;

/// `=` begins anew, with these samples. `$` is a command of bash. `>` is a call of `check`, and `-` one by a user who may read less: its operands,
/// its exit status, and what it says, on either output; after `^` all of its standard output, and after `!` what it does not say.
const CASES: &str = r#"
= bagit bazel-disk-from-source dvc git-annex git-lfs hf-cache-2x hf-local-dir oci-layout ollama-from-source restic skopeo-dir
$ sums
> -r . | 0 | an Ollama store | a restic repository | a bag | objects of git-annex
> -q bagit git-lfs restic dvc hf-cache-2x | 0 | ^ | !treewide
> --json -v hf-cache-2x | 0 | "algorithm":"git-blob-sha1","by":"store" | "algorithm":"sha256","by":"store" | "algorithm":"xet","by":"store" | "store":"huggingface-shared"
> --strong dvc | 3 | : FAILED (MD5 is not accepted with --strong) | 6 not verified | nothing was verified
> --strong hf-cache-2x | 3 | 2 objects (146.48 KiB) are | 3 not verified
> --algorithm sha256 restic | 2 | restic is a directory
> --length 16 restic | 2 | restic is a directory
> --keyed restic | 2 | restic is a directory
> --store nothing . | 2 | --store
$ sha256sum --quiet -c sums; find * -type f -exec touch -a -d 2001-01-01 {} +
> bagit hf-local-dir hf-cache-2x oci-layout ollama-from-source | 0
$ ! find bagit hf-local-dir hf-cache-2x oci-layout ollama-from-source -type f -newerat 2001-01-02 | grep .
= hf-cache-2x
$ mv {R}/blobs/576d871ded48427dc823b70ae730a89a7d286c4f aside
> hf-cache-2x | 1 | config.json: MISSING | , 1 MISSING
$ mv aside {R}/blobs/576d871ded48427dc823b70ae730a89a7d286c4f; mv hf-cache-2x/blobs/{BIG} aside
> hf-cache-2x | 1 | sub/big.bin: MISSING | , 1 MISSING
$ mv aside hf-cache-2x/blobs/{BIG}; put {R}/blobs/b5a475ce67d7eb5e0339d449d1cfacb4da14396d0c919859d77de5f73a6104a5 ''
> hf-cache-2x | 1 | ^{R}/blobs/b5a475ce67d7eb5e0339d449d1cfacb4da14396d0c919859d77de5f73a6104a5: FAILED (0 bytes instead of 60000; model.safetensors of models--org--toy)
= hf-cache-2x
$ put {R}/blobs/{D} x; put {R}/blobs/{D40} x
> hf-cache-2x | 1 | 2 FAILED | nothing was changed
$ rm {R}/blobs/{D} {R}/blobs/{D40}; put {R}/blobs/{A}.1234abcd.incomplete x
> hf-cache-2x | 0 | unfinished downloads passed over: 1
> --strict -r hf-cache-2x | 0 | unfinished downloads passed over: 1
$ put {R}/blobs/{A}0 x; put {R}/blobs/abab x
> hf-cache-2x | 3 | 2 not understood
$ rm {R}/blobs/*ab*; ln -s /etc/passwd {R}/blobs/{A}
> hf-cache-2x | 1 | ^{R}/blobs/{A}: FAILED (leads out of the store)
$ rm {R}/blobs/{A}; put {R}/blobs/576d.incomplete x; ln -sf ../../blobs/576d.incomplete {N}/config.json
> hf-cache-2x | 1 | ^{N}/config.json: MISSING (its blob is an unfinished download) | 1 MISSING
$ ln -sf /etc/passwd {N}/config.json
> hf-cache-2x | 1 | config.json: FAILED (leads out of the store) | 1 FAILED
= hf-cache-2x
$ ln -s {R} link; sed -i 's/"blob_id": "c1f00df/"other": "c1f00df/' {R}/trees/*.json
> link | 3 | link: a Hugging Face repository: 5 objects
> hf-cache-2x | 3 | ^{N}/README.md: FAILED (no digest in its tree) | 1 not verified
= hf-cache-2x
$ mv {N}/README.md aside
> hf-cache-2x | 0 | files that were not downloaded passed over: 1
$ cp -P {N}/config.json {N}/README.md
> hf-cache-2x | 1 | ^{N}/README.md: FAILED (leads to the content of another file)
$ mv aside {N}/README.md; cp --remove-destination $(realpath {N}/config.json) {N}/config.json
> hf-cache-2x | 0 | repository: 6 objects
$ put {N}/config.json x
> hf-cache-2x | 1 | 1 byte instead of 39
$ put {N}/config.json 123456789012345678901234567890123456789
> hf-cache-2x | 1 | config.json: FAILED\n
$ put {R}/trees/{D40}.json '{'
> hf-cache-2x | 3 | 2 not understood
$ put {R}/trees/{D40}.json '{"format_version": 2, "files": {}}'
> hf-cache-2x | 3 | 2 not understood
= 
$ M=hub/models--o--m; mkdir -p $M/refs $M/snapshots/c; put $M/blobs/00 x; ln -s ../../blobs/00 $M/snapshots/c/model.safetensors
> hub | 3 | model.safetensors of models--o--m
= hf-local-dir
$ put hf-local-dir/config.json changed
> hf-local-dir | 1 | ^hf-local-dir/config.json: FAILED
$ rm hf-local-dir/config.json
> hf-local-dir | 1 | hf-local-dir/config.json: MISSING
= hf-local-dir
$ cp {W}/config.json.metadata m; head -c 60 m > {W}/config.json.metadata
> hf-local-dir | 3 | ^hf-local-dir/config.json: FAILED (no digest in its metadata) | 1 not verified
$ printf '\xff\xfe' > {W}/config.json.metadata
> hf-local-dir | 3 | ^hf-local-dir/config.json: FAILED (no digest in its metadata)
$ cp m {W}/config.json.metadata; cp hf-local-dir/config.json $'hf-local-dir/odd\xff\\name'; cp m $'{W}/odd\xff\\name.metadata'
> hf-local-dir | 0 | 6 objects
$ out hf-local-dir/config.json
> hf-local-dir | 1 | config.json: FAILED (leads out of the store)
= bagit
> bagit | 0 | bagit: a bag: 9 files ( | as the manifests say
$ put bagit/data/extra x
> bagit | 1 | ^bagit/data/extra: FAILED (is not listed in manifest-sha256.txt)
$ mv bagit/data/extra bagit/bagit.extra; mv bagit/data/alpha.txt aside
> bagit | 1 | bagit/data/alpha.txt: MISSING | --ignore-missing leaves out what was never fetched
> --ignore-missing --strict bagit | 0 | ; 1 missing file ignored
$ mv aside bagit/data/alpha.txt; sed -i '1s/^/\xef\xbb\xbf/' bagit/bagit.txt
> bagit | 1 | a bag | 1 FAILED
= bagit
$ mv bagit/data data; ln -s ../data bagit/data
> bagit | 0 | bagit/data leads to 
$ out bagit/data/sub
> bagit | 1 | leads out of the store
= 
$ for b in b1 b2; do put $b/bagit.txt 'BagIt-Version: 1.0'; mkdir $b/data; done; echo '{X}  data/a' | tee b1/manifest-sha256.txt > b2/manifest-sha3256.txt; put b1/data/a x
> b1 | 0 | 1 file (
> b1/manifest-sha256.txt | 0 | 1 file checked: 1 OK
$ echo '{X}  ../x' > m; cp b1/bagit.txt .; cp m manifest-sha256.txt
> manifest-sha256.txt | 3 | ^../x: FAILED (leads out of the bag)
$ rm bagit.txt
> b2 | 1 | 1 MISSING
$ put b2/data/a x
> b2 | 1 | 1 FAILED
$ echo '{X3}  data/a' > b2/manifest-sha3256.txt
> b2 | 0 | 1 file (
$ cp b2/manifest-sha3256.txt b2/manifest-whirlpool.txt
> b2 | 3 | b2/manifest-whirlpool.txt: FAILED (the algorithm in its name is not supported | !is not listed
$ put b2/bagit.txt 'BagIt-Version: x'
> b2 | 3 | not verified
= git-lfs
$ put git-lfs/.git/lfs/tmp/{A} x; ln -s git-lfs/.git/lfs link
> link | 0 | 5 objects
$ mv git-lfs/.git/lfs elsewhere; ln -s ../../elsewhere git-lfs/.git/lfs
> git-lfs | 0 | 5 objects
$ rm $(find elsewhere/objects -type f | head -1)
> git-lfs | 0 | 4 objects | not checked: whether all objects are there
$ put elsewhere/objects/ab/cd/{A} x
> git-lfs | 3 | 1 not understood
$ rm -r elsewhere/objects/ab; put elsewhere/objects/01/23/{D} x
> git-lfs | 1 | 1 FAILED | nothing was changed
= git-annex
> --strict git-annex | 3 | 4 skipped
$ put tree/.git 'gitdir: ../git-annex/.git/worktrees/tree'; put git-annex/.git/worktrees/tree/commondir ../..; put git-annex/.git/annex/objects/aa/bb/URL--x/URL--x x
> tree | 0 | 13 objects | 5 skipped
$ K=SHA256-s1--{D}; put git-annex/.git/annex/objects/aa/bb/$K/$K x; echo >> $(find git-annex/ -name 'SHA1-s15-*' -type f)
> git-annex | 1 | (16 bytes instead of 15) | 2 FAILED
$ out git-annex/.git/annex/objects/0z
> git-annex | 1 | objects/0z: FAILED (a link to a directory, which is not followed)
= restic
$ put restic/locks/{A} x
> --strict restic | 0 | 5 objects
$ put restic/data/ff/{A} x
> restic | 3 | 1 not understood
$ rm restic/data/ff/{A}; put restic/data/01/{D} x; put restic/data/{D} x
> restic | 1 | 2 FAILED
$ rm restic/data/01/{D} restic/data/{D}; out restic/data/1b
> restic | 1 | restic/data/1b: FAILED (a link to a directory, which is not followed)
= bazel-disk-from-source
$ put bazel-disk-from-source/ac/ab/{A} x; mv bazel-disk-from-source blake3; mv blake3/blake3 bz3
> --strict bz3 | 0 | 3 objects ( | !SHA-256
> blake3 | 0 | 3 objects ( | , by SHA-256
$ put blake3/cas/01/{D} x; put bz3/cas/01/{D} x
> blake3 bz3 | 1 | blake3: a disk cache of Bazel: 4 objects | 1 FAILED
= oci-layout
> --strict -o {B}/out oci-layout | 0 | 4 objects | temporary files passed over: 1
$ rm {B}/out; mkdir {B}/{A}
> oci-layout | 1 | {B}/{A}: FAILED (a directory, not a file)\n | 1 FAILED
$ rmdir {B}/{A}; put {B}/{A}x x
> oci-layout | 3 | 1 not understood
$ rm {B}/{A}x; put {B}/{D} x
> oci-layout | 1 | 1 FAILED
$ rm {B}/{D}; mv {B}/{L} 'oci-layout/blobs/sha256\{L}'
> oci-layout | 3 | 3 objects | 1 MISSING, 1 not understood
$ mv 'oci-layout/blobs/sha256\{L}' aside
> oci-layout | 1 | ^{B}/{L}: MISSING ({B}/{M} names it) | 1 MISSING; looked for all objects named in index.json and in manifests | --ignore-missing leaves out
> --ignore-missing --strict oci-layout | 0 | ^ | ; 1 missing object ignored
> --json -v --ignore-missing oci-layout | 0 | "path":"{B}/{L}","verdict":"missing"
$ mv aside {B}/{L}; mv {B}/{M} aside
> oci-layout | 1 | {B}/{M}: MISSING (oci-layout/index.json names it)
$ sed s/{L}/{A}/ aside > outside; ln -s $PWD/outside {B}/{M}
> oci-layout | 1 | ^{B}/{M}: FAILED (leads out of the store)
$ rm {B}/*
> --ignore-missing oci-layout | 3 | nothing was verified
= oci-layout
$ mv oci-layout/blobs elsewhere; ln -s ../elsewhere oci-layout/blobs
> oci-layout | 0 | 4 objects | oci-layout/blobs leads to 
$ index application/vnd.oci.image.manifest.v1+json {M} 500
> oci-layout | 1 | (501 bytes instead of 500) | ; looked for objects named
$ index x/y {M} -1
> oci-layout | 3 | ^oci-layout/index.json: FAILED ({NOT} it cannot be understood) | 1 not understood | ; looked for objects named in
$ head -c 100 oci-layout/index.json | tee oci-layout/index.json > aside
> oci-layout | 3 | it cannot be understood
$ put oci-layout/index.json '{"manifests":[{"digest":"sha9:{M}"}]}'
> oci-layout | 3 | it cannot be understood
$ put oci-layout/index.json '{"manifests":[],"manifests":[]}'
> oci-layout | 3 | it cannot be understood
$ (printf '{"manifests":[[]'; yes ,[] | head -2100000; echo ']}') > oci-layout/index.json
> oci-layout | 3 | ^oci-layout/index.json: FAILED ({NOT} it is longer than 4 MiB)
$ (printf '{"manifests":'; printf '[%.0s' {1..20000}) > oci-layout/index.json
> oci-layout | 3 | it cannot be understood
$ put oci-layout/index.json '{"manifests":[{"digest":"sha256:{A}","urls":["https://example.com"]}]}'
> oci-layout | 1 | {A}: MISSING
$ put oci-layout/index.json '{"manifests":[{"digest":"sha256:{M}","size":501},{"mediaType":"application/x","digest":"sha256:{C}","size":437}]}'
> oci-layout | 1 | {B}/{M}: FAILED ({B}/{C} has 438 bytes by it, and 437 by another record)
$ index application/vnd.oci.image.manifest.v1+json {S} 75313
> oci-layout | 3 | ^{B}/{S}: FAILED ({NOT} it cannot be understood)
$ index application/vnd.oci.image.layer.v1.tar+gzip {S} 75313; mv {B}/{L} aside
> --strict oci-layout | 0 | 3 objects
$ index application/vnd.oci.image.index.v1+json {M} 501
> oci-layout | 1 | {L}: MISSING
$ index application/vnd.docker.distribution.manifest.v2+json {M} 501
> oci-layout | 1 | {L}: MISSING
$ index application/vnd.docker.distribution.manifest.list.v2+json {M} 501
> oci-layout | 1 | {L}: MISSING
$ index application/vnd.buildkit.cacheconfig.v0 {M} 501
> oci-layout | 0 | {B}/{M}: skipped (may name objects that were not looked for: its type is not known: application/vnd.buildkit.cacheconfig.v0) | 1 skipped
> --strict oci-layout | 3 | 1 skipped
= oci-layout
$ mkdir oci-layout/x; mv {B}/{M} oci-layout/x/m; ln -s ../../x/m {B}/{M}; rm {B}/{L}
> oci-layout | 1 | {B}/{L}: MISSING ({B}/{M} names it)
= oci-layout
$ index application/vnd.oci.image.layer.v1.tar {A} 1; sed -i 's/}]/,"urls":["https:\/\/x"]}]/' oci-layout/index.json
> oci-layout | 0 | layers that are kept elsewhere passed over: 1
= skopeo-dir oci-layout
$ put skopeo-dir/manifest.json '{"config":{"digest":"sha256:{C}","size":438},"layers":null}'
> skopeo-dir | 0 | 3 objects
$ put skopeo-dir/manifest.json '{"manifests":null}'
> skopeo-dir | 0 | 3 objects
$ put skopeo-dir/manifest.json '{"config":{"digest":"sha256:{C}","size":438}}'
> skopeo-dir | 3 | 1 not understood
$ put skopeo-dir/manifest.json '{"schemaVersion":1,"fsLayers":[{"blobSum":"x"}]}'
> skopeo-dir | 0 | 1 skipped
$ cp {B}/{M} skopeo-dir/{M}.manifest.json; cp oci-layout/index.json skopeo-dir/manifest.json; put skopeo-dir/{M}.signature-1 x
> --strict skopeo-dir | 0 | 4 objects
$ mv skopeo-dir/{L} aside
> skopeo-dir | 1 | ^skopeo-dir/{L}: MISSING (skopeo-dir/{M}.manifest.json names it) | 3 objects | 1 MISSING
$ mv aside skopeo-dir/{L}; mv skopeo-dir/{M}.manifest.json aside
> skopeo-dir | 1 | ^skopeo-dir/{M}.manifest.json: MISSING (skopeo-dir/manifest.json names it) | 3 objects
$ sed s/438/439/ aside > skopeo-dir/{M}.manifest.json; put skopeo-dir/{D} x
> skopeo-dir | 1 | skopeo-dir/{M}.manifest.json: FAILED\n | 3 FAILED
= ollama-from-source
$ mv ollama-from-source/blobs/sha256-{O} aside
> ollama-from-source | 1 | library/toy/latest names it; toy:latest
$ mv aside ollama-from-source/blobs/sha256-{O}; put ollama-from-source/blobs/sha256-{A}-partial x
> ollama-from-source | 0 | unfinished downloads passed over: 3
$ put ollama-from-source/blobs/sha256-abab x
> ollama-from-source | 3 | 1 not understood
$ rm ollama-from-source/blobs/sha256-abab; put ollama-from-source/blobs/sha256-{D} x; D={D}; put ollama-from-source/blobs/sha256:${D^^} x
> ollama-from-source | 1 | 2 FAILED
$ put ollama-from-source/blobs/sha256-{O} short
> ollama-from-source | 1 | blobs/sha256-{O}: FAILED (5 bytes instead of 40004; toy:latest)
$ mv ollama-from-source/manifests/registry.example ollama-from-source/manifests/registry.ollama.ai; rm -r ollama-from-source/blobs
> ollama-from-source | 1 | 4 MISSING
= dvc
$ put dvc/.dvc/cache/files/md5/01/23456789abcdef0123456789abcdef x
> dvc | 1 | 1 FAILED
$ rm -r dvc/.dvc/cache/files/md5/01; rm dvc/.dvc/cache/files/md5/40/1b30e3b8b5d629635a5c613cdb7919
> dvc | 1 | ; grüße c.txt | 1 MISSING
> --ignore-missing dvc | 0 | ; 1 missing object ignored
= 
$ put c/content-v2/sha512/a4/ab/{X512} x; mkdir -p c/index-v5
> c | 0 | 1 object (1 B) is what its name says | not checked: whether all objects are there
= oci-layout
$ for d in {M} {C} {L} {S}; do mkdir -p {V}/blobs/sha256/${d:0:2}/$d; cp {B}/$d {V}/blobs/sha256/${d:0:2}/$d/data; done
$ for it in _manifests/revisions/sha256/{M} _manifests/tags/1.0/current; do put {V}/repositories/org/app/$it/link sha256:{M}; done
$ put {V}/repositories/org/app/_layers/sha256/x/link sha256:{Z}
> --strict r | 0 | 4 objects | named in its links to manifests
$ rm {V}/blobs/sha256/45/{L}/data
> r | 1 | ^{V}/blobs/sha256/45/{L}/data: MISSING ({V}/blobs/sha256/fd/{M}/data names it; org/app)
$ rm {V}/blobs/sha256/fd/{M}/data
> r | 1 | 1 MISSING
$ put {V}/repositories/org/app/_manifests/tags/1.0/current/link x
> r | 3 | 1 not understood
$ mkdir app; ln -s ../../../../../app {V}/repositories/link
> r | 3 | repositories/link: FAILED (a link to a directory, which is not followed)
= 
$ put c/ingest/a/data ''; put c/blobs/sha256/{X} x; put d/by-hash/SHA256/{X} x; put d/by-hash/MD5Sum/9dd4e461268c8034f5c8564e155c67a6 x
> --store containerd c | 0 | 1 object (
> --store apt d | 0 | 2 objects ( | by MD5 and SHA-256
> --store restic d | 3 | not a restic repository
$ put d/Packages y; ln -s ../../Packages d/by-hash/SHA256/a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa; ln -s ../../../sums d/by-hash/SHA256/{A}; touch sums
> d | 1 | 4 objects | {A}: FAILED (leads out of the store)
= 
$ oci s/ok application/vnd.oci.image.layer.v1.tar; oci d application/vnd.oci.image.layer.v1.tar; put d/blobs/sha256/{X} y; ln -s ../d s/bad
> -r s | 1 | s/bad: an OCI image layout
$ rm -r d; mkdir d
> -r s | 0 | s: links out of it are not followed: s/bad
> -r --strict s | 3 | not followed
$ rmdir d; ln -s nothing s/in
> -r s | 0 | s: links out of it are not followed: s/bad\n
= hf-cache-2x
$ ln -s /nothing hf-cache-2x/models--x--y; ln -s {N} hf-cache-2x/models--x--z
> hf-cache-2x | 0 | links out of it are not followed: hf-cache-2x/models--x--y and 1 more
> -r --strict hf-cache-2x | 3 | links out of it are not followed: hf-cache-2x/models--x--y\n
= 
$ ollama a x; ollama a/b y
> -r . | 1 | ./a: an Ollama | ./a/b: an Ollama
$ ollama a/b x; chmod 755 .; chmod 000 a/b
- -r . | 3 | a/b: cannot | a: an Ollama store: 1 object
- -r --strict a | 3 | a/b: cannot
$ chmod 755 a/b; chmod 000 a/b/blobs
- -r . | 3 | a/b/blobs: cannot
$ chmod 644 a/b/blobs
- -r . | 3 | 1 could not be read
$ chmod 755 a/b/blobs; mv a/b models--x--y; chmod 000 models--x--y; mv a models
- . | 3 | models--x--y: cannot | models: an Ollama store: 1 object
$ chmod 755 models--x--y
= oci-layout hf-cache-2x hf-local-dir bagit restic
$ ln -s oci-layout/index.json link; mv restic/data data; ln -s ../data restic/data; put data/other x; sums
> oci-layout --force -o oci-layout/index.json | 2 | would replace it
> oci-layout/ --force -o link | 2 | would replace it
> -r . --force -o oci-layout/oci-layout | 2 | would replace it
> --json hf-cache-2x --force -o {R}/refs/main | 2 | would replace it
> hf-local-dir --force -o {W}/config.json.metadata | 2 | would replace it
> bagit --force -o bagit/bag-info.txt | 2 | would replace it
> restic --force -o data/other | 2 | would replace it
$ sha256sum --quiet -c sums
> oci-layout -v -o oci-layout/report | 0 | 4 objects
> oci-layout -v -o report | 0 | 4 objects
$ test $(cat report oci-layout/report | wc -l) = 8
= 
$ put a/blobs/sha256/{A} x; put models--x--y/blobs/{A} x; put c/cas/ab/{A} x; put d/cas/ab/ab x; put d/ac/x x; put e/{A}--name x; put f/objects/ab/cd/{A} x
$ put lfs/objects/ab/ab/{A} x; put g/md5/ab/abababababababababababababababab x; put h/keys/{A} x; put i/manifests/{A} x; put j/content-v2/sha512/ab/ab/{A} x
> a models--x--y c d e f lfs g h i j | 3 | a: not a store that this program knows | j: not a store that this program knows | !objects
> -r . | 3 | not a store that this program knows, and there is none below it
> --json a | 3 | "path":"a","verdict":"unverified"
$ mkdir a/.git bag bag/data; put bag/bagit.txt damaged
> a | 3 | git fsck
> bag | 3 | bag/bagit.txt: the mark of a store, but damaged
"#;

#[test]
fn check_accounts_for_all_that_is_in_stores() {
    let samples = Folder::new();
    let is_possible = ["tar", "xz", "bash"].iter().all(|it| find_program(it).is_some());
    if !is_possible || samples.program("tar").args(["xf", SAMPLES]).run().code != Some(0) {
        return skip("stores", "there is no tar, no xz or no bash");
    }
    let filled =
        |text: &str| WORDS.iter().fold(text.to_owned(), |text, (word, is)| text.replace(word, is));
    let shell = filled(SHELL);
    let (mut folder, mut cases, mut wrong) = (Folder::new(), 0, Vec::new());
    for row in CASES.trim().lines().map(filled) {
        let (kind, row) = row.split_at(2);
        match kind {
            "= " => {
                folder = Folder::new();
                let names: Vec<_> = row.split_whitespace().collect();
                let copied = samples.program("cp").arg("-a").args(&names).arg(folder.path()).run();
                assert!(names.is_empty() || copied.code == Some(0), "{copied:?}");
            }
            "$ " => drop(
                folder.program("bash").args(["-c", &format!("{shell}{row}")]).run().fails(0, &[]),
            ),
            _ => {
                let mut columns = row.split(" | ");
                let program = folder.treewide(&format!("check {}", columns.next().unwrap()));
                let is_nobody = kind == "- " && is_root();
                if is_nobody && !folder.treewide("--version").by_nobody().can_start() {
                    skip(row, "no other user may run the program");
                    continue;
                }
                let ended = if is_nobody { program.by_nobody().run() } else { program.run() };
                let all = [ended.text(), &ended.stderr].concat();
                let code = columns.next().unwrap().parse().ok();
                let mut is_wrong = ended.code != code;
                for said in columns.map(|it| it.replace("\\n", "\n")) {
                    is_wrong |= match said.split_at(1) {
                        ("^", "") => !ended.text().is_empty(),
                        ("^", line) => ended.text() != format!("{line}\n"),
                        ("!", text) => all.contains(text),
                        _ => !all.contains(&said),
                    };
                }
                cases += 1;
                if is_wrong {
                    wrong.push(format!("{row}\n{:?} {all}", ended.code));
                }
            }
        }
    }
    println!("stores: {cases} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
