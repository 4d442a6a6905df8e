//! `treewide check` with lists that other programs have written: each form as it is, with the file changed, and with the digest changed.

use crate::support::{Folder, find_program, skip};
use std::fs;

/// The content of `alpha.txt` and its digests.
const ALPHA: &str = "alpha\n";
const MD5: &str = "9f9f90dbe3e5ee1218c86b8839db1995";
const SHA1: &str = "d046cd9b7ffb7661e449683313d41f6fc33e3130";
const SHA224: &str = "de83f7a1e5142382528e31d7473ba6b5c81a2a8a1175cd8e8a9ba8ec";
const SHA256: &str = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060";
const SHA384: &str = "c186fccb11e85363edbb872e2426dc1de5826946fd1130465391e76ec3744350343fa502fabc4be3ac76d6737e01071b";
const SHA512: &str = "62d0791d22f871ef4b4e8f6fa1374091f6d540ba5e3e9bc23b0e6fd2e3d6534f\
                      9087b8c195634c7627fc26a33f17576b4e107da4ab421d486acc2636538bb58f";
const BLAKE2B: &str = "ab0f6802d80e573960c1d4172acc7941a7425000730082d86bdaafa71c0ad53a\
                       0f2a9627b13581dc9e6538b3a4e1ec911869083ee184ab04f856e7b7dded4711";
const BLAKE3: &str = "ac678d92b3d739773d18cd952cfcea443fa4a5a98ffc9554b66795bb22d5532d";

/// Name of the list, its text, options, and the algorithms that the summary names. `@NAME` stands for a digest.
const FORMS: &str = r#"
SHA256SUMS | @SHA256  alpha.txt\n |  | SHA-256
SHA256SUMS | @SHA256 *alpha.txt\n |  | SHA-256
SHA256SUMS | @BASE64=  alpha.txt\n |  | SHA-256
x | @SHA256 ?SHA256*alpha.txt\n |  | SHA-256
x | @SHA256  alpha.txt\n |  | SHA-256
x | @SHA512  alpha.txt\n |  | SHA-512
x | @BLAKE2B  alpha.txt\n |  | BLAKE2b-512
x | @SHA384  alpha.txt\n |  | SHA-384
x | @SHA224  alpha.txt\n |  | SHA-224
x | @SHA1  alpha.txt\n |  | SHA-1, which finds damage, but not a file that someone forged
x | @MD5 alpha.txt\n@MD5 new\\nline\n | --ignore-missing | MD5, which finds damage, but not a file that someone forged
x | @BLAKE3  alpha.txt\n |  | 
sums.b3 | @BLAKE3  alpha.txt\n |  | 
x | @SHA256  alpha.txt\n | --algorithm sha256 | SHA-256
x | @SHA256  alpha.txt\0@SHA256  new\nline\0 |  | SHA-256
x | \\@SHA256  new\\nline\n |  | SHA-256
x | SHA256 (alpha.txt) = @SHA256\n |  | SHA-256
x | SHA256 (alpha.txt) = @BASE64=\nSIZE (alpha.txt) = 6\n |  | SHA-256
x | SHA256 (alpha.txt) = @SHA256 |  | SHA-256
SHA512SUMS | SHA256 (alpha.txt) = @SHA256\n |  | SHA-256
x | SHA2-256(alpha.txt)= @SHA256\n |  | SHA-256
x | BLAKE2b (alpha.txt) = @BLAKE2B\n |  | BLAKE2b-512
x | MD5   (alpha.txt) = @MD5\nSHA256 (alpha.txt) = @SHA256\n |  | MD5 and SHA-256 (MD5 finds damage, but not a file that someone forged)
x | \\SHA256 (new\\nline) = @SHA256\n |  | SHA-256
x | $NetBSD: x$\n\nMD5 (alpha.txt) = @MD5\nSize (alpha.txt) = 6 bytes\n |  | MD5, which finds damage, but not a file that someone forged
x | alpha.txt: @GROUPS\n |  | SHA-256
alpha.txt.sha256 | # of x\n@SHA256\n |  | SHA-256
alpha.txt.sha512sum | @SHA512 |  | SHA-512
x | {"assets":[{"name":"alpha.txt","digest":"sha256:@SHA256","size":6}]} |  | SHA-256
x | [\n {\n  "name": "alpha.txt",\n  "digest": "sha256:@SHA256"\n }\n]\n |  | SHA-256
x | {"_type":"x","subject":[{"name":"alpha.txt","digest":{"sha256":"@SHA256"}}]} |  | SHA-256
x | {"info":{},"urls":[{"filename":"alpha.txt","digests":{"sha256":"@SHA256"}}]} |  | SHA-256
x | {"Algorithm":"SHA256","Hash":"@UPPER","Path":"alpha.txt"}\n |  | SHA-256
repodata.json | {"packages":{"alpha.txt":{"name":"a","sha256":"@SHA256"}}} |  | SHA-256
a.dsc | Format: 3.0\nChecksums-Sha256:\n @SHA256 6 alpha.txt\nX: y\n |  | SHA-256
Release | Origin: x\nSHA256:\n @SHA256 6 alpha.txt\n |  | SHA-256
x | Package: a\nFilename: alpha.txt\nSize: 6\nSHA256: @SHA256\n\n |  | SHA-256
x_dists_y_Packages | Package: a\nDescription-md5: @MD5\nFilename: alpha.txt\nSHA256: @SHA256\n |  | SHA-256
Sources | Package: a\nFiles:\n @MD5 6 alpha.txt\nDirectory: .\n\n |  | MD5, which finds damage, but not a file that someone forged
a.sfv | ; made by x\nalpha.txt 9F606EEC\n |  | CRC-32, which finds damage, but not a file that someone forged
x | %%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## x\n6,@MD5,@SHA256,alpha.txt\n |  | MD5 and SHA-256 (MD5 finds damage, but not a file that someone forged)
x.dist-info/RECORD | alpha.txt,sha256=@BASE64,6\na.pyc,,\nx.dist-info/RECORD,,\n |  | SHA-256
x.asc | @SIGNED |  | SHA-256
x | BLAKE3(alpha.txt)=@BLAKE3\n |  | 
x | blake3  (alpha.txt)  =  @BLAKE3\n |  | 
x | @BLAKE3 ?blake3*alpha.txt\n |  | 
Fedora-CHECKSUM | -----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n# alpha.txt: 6 bytes\nSHA256 (alpha.txt) = @SHA256\n-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\niQIzBAEB+/==\n=AbCd\n-----END PGP SIGNATURE-----\n |  | SHA-256
CHECKSUM.SHA512-FreeBSD.asc | -----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nSHA512 (alpha.txt) = @SHA512\n-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\niQIzBAEB+/==\n=AbCd\n-----END PGP SIGNATURE-----\n |  | SHA-512
b2sums.txt | @BLAKE2B  alpha.txt\n |  | BLAKE2b-512
a.dsc | -----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nFormat: 3.0 (quilt)\nBinary: a, b\nPackage-List:\n a deb admin optional arch=any\nChecksums-Sha1:\n @SHA1 6 alpha.txt\nChecksums-Sha256:\n @SHA256 6 alpha.txt\nFiles:\n @MD5 6 alpha.txt\n\n-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\niQIzBAEB+/==\n=AbCd\n-----END PGP SIGNATURE-----\n |  | SHA-1, SHA-256 and MD5 (SHA-1 and MD5 find damage, but not a file that someone forged)
a.changes | Format: 1.8\nDescription:\n a - b\nChanges:\n x (1) y; urgency=low\n .\n   * z\nChecksums-Sha256:\n @SHA256 6 alpha.txt\nFiles:\n @MD5 6 admin optional alpha.txt\n |  | SHA-256 and MD5 (MD5 finds damage, but not a file that someone forged)
InRelease | -----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: Debian\nAcquire-By-Hash: yes\nDescription: x\nMD5Sum:\n @MD5        6 alpha.txt\nSHA256:\n @SHA256        6 alpha.txt\n-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\niQIzBAEB+/==\n=AbCd\n-----END PGP SIGNATURE-----\n |  | MD5 and SHA-256 (MD5 finds damage, but not a file that someone forged)
Packages | Package: a\nVersion: 1:2-3\nDepends: libc6 (>= 2.36), b\|c\nDescription: d\n e\n .\n f\nHomepage: https://x/y:z\nFilename: alpha.txt\nSize: 6\nMD5sum: @MD5\nSHA256: @SHA256\n |  | MD5 and SHA-256 (MD5 finds damage, but not a file that someone forged)
a.sfv | ; Generated by RHash v1.4.4 on 2024-01-01 at 10:00.00\n; Written by Kravchenko Aleksey (Akademgorodok) - http://rhash.sf.net/\n;\n;            6  10:00.00 2024-01-01 alpha.txt\nalpha.txt 9F606EEC\n |  | CRC-32, which finds damage, but not a file that someone forged
x | %%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## Invoked from: /home/u\n## $ hashdeep -c md5,sha256 alpha.txt\n## \n6,@MD5,@SHA256,alpha.txt\n |  | MD5 and SHA-256 (MD5 finds damage, but not a file that someone forged)
x | {"url":"https://x","id":1,"name":"v1","target_commitish":"@SHA1","author":{"login":"u"},"assets":[{"url":"u","name":"alpha.txt","uploader":{"login":"u","id":2},"size":6,"digest":"sha256:@SHA256"}]} |  | SHA-256
x | {"info":{"name":"p"},"releases":{"1":[{"filename":"old","url":"u"}]},"urls":[{"filename":"alpha.txt","md5_digest":"@MD5","digests":{"md5":"@MD5","sha256":"@SHA256"},"size":6}]} |  | MD5 and SHA-256 (MD5 finds damage, but not a file that someone forged)
x | {"files":[{"id":"i","key":"alpha.txt","size":6,"checksum":"md5:@MD5","links":{"self":"https://x"}}]} |  | MD5, which finds damage, but not a file that someone forged
"#;

const SIGNED: &str = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n- @SHA256  alpha.txt\n\
    -----BEGIN PGP SIGNATURE-----\n\niQIzBAEB\n-----END PGP SIGNATURE-----\n";

/// Name of the list, its text, options, exit status, and what is said, on either output, with `|` between them. The directory has `alpha.txt`, `new\nline`,
/// `new`, `c `, `ä`, `sub/b` and `empty`; standard input is `alpha.txt`.
const CASES: &str = r#"
x | @SHA256  alpha.txt\nprose\n |  | 3 | x:2: expected `DIGEST  FILE`, found: prose\n | 1 OK, by SHA-256; 1 line not understood\n
x | @SHA256  alpha.txt\nSHA256 (alpha.txt) = @SHA256\n |  | 3 | x:2: expected `DIGEST  FILE`, found `ALGORITHM (FILE) = DIGEST`
x | @SHA256  alpha.txt\n@SHA256 alpha.txt\n |  | 3 | x:2: expected `DIGEST  FILE`, found `DIGEST FILE`; a list has one form
x | @SHA256  alpha.txt\n@SHA256\n | -q | 3 | x:2: 
x | @SHA256\n@SHA256  alpha.txt\n |  | 3 | x:1: no list that is known begins like this
x | # of b@SHA256  b\n@SHA256  alpha.txt\n |  | 3 | line 1: an entry in a comment
x | @SHA256  alpha.txt\n# @SHA256  b\n |  | 3 | x:2: an entry in a comment is not verified
x | @SHA256  alpha.txt\n#@SHA256  b\n |  | 3 | x:2: expected `DIGEST  FILE`, found: #b6a9
x | # of commit @SHA1 on main\n@SHA256  alpha.txt\n# the end |  | 0 | 1 OK
x | @SHA256  alpha.txt\n\0\0\0\n | --status | 3
x | @SHA256  alpha.txt\npro |  | 3 | x:2: expected `DIGEST  FILE`, found: pro; the list may be cut off here: no line end\n
a.sfv | alpha.txt 9F606EEC\n;b 9F606EEC\n |  | 3 | a.sfv:2: 
x | @SHA256  alpha.txt\n@SIGNED |  | 3 | x:2: 
x | @SIGNED@SHA256  alpha.txt\n | -q | 3 | x:9: outside of the signed text, so that no one has signed it\n
x | -----BEGIN PGP SIGNED MESSAGE-----\n\n@SHA256  alpha.txt\n |  | 3 | the signature of the list has no end
x | -----BEGIN PGP SIGNED MESSAGE-----\n@SHA256  b\n\n@SHA256  alpha.txt\n |  | 3 | x:2: not a line of a PGP signature
SHA256SUMS | @MD5  alpha.txt\n |  | 3 | alpha.txt: FAILED (digest of 32 digits; SHA-256 of the list's name (--algorithm says another) has 64)
SHA256SUMS | @SHA512  alpha.txt\n | --algorithm sha512 | 0 | 1 OK
x | SHA512 (alpha.txt) = @SHA512\n | --algorithm sha256 | 3 | a SHA512 digest, but --algorithm says sha256
x | MD5 (alpha.txt) = @MD5\nWHIRLPOOL (alpha.txt) = @SHA512\n |  | 3 | alpha.txt: FAILED (WHIRLPOOL is not supported)\n | 0 OK, 1 not verified
x | CRC32 (alpha.txt) = 9f606eec\n |  | 3 | alpha.txt: FAILED (CRC32 is not supported)\n
x | SHA512 (alpha.txt) = @SHA256\n |  | 3 | digest of 64 digits; SHA-512 has 128)
x | SHA256 (alpha.txt) = \n |  | 3 | alpha.txt: FAILED (no digest)
x | SHA256 (alpha.txt) = zz\n |  | 3 | alpha.txt: FAILED (the digest is neither hexadecimal nor base64)
x | SHA256 (alpha.txt)\n |  | 3 | x:1: 
x | @SHA256  alpha.txt\nSHA256 (alpha.txt)\n |  | 3 | x:2: 
x | @SHA1  alpha.txt\n | --strong | 3 | SHA-1 is not accepted with --strong
x | ef46db3751d8e999  alpha.txt\n |  | 3 | digest of 8 bytes: of an algorithm that is not supported, or of BLAKE3 with --length 8
x | 8810ad581e59f2b  alpha.txt\n |  | 3 | x:1: 
x | @SHA256  empty\n |  | 1 | empty: FAILED (empty: 0 bytes)\n | as BLAKE3 or as SHA-256
x | BLAKE2b-256 (alpha.txt) = @SHA256\n |  | 1 | 1 FAILED
x | BLAKE3-128 (alpha.txt) = @BLAKE3\n |  | 3 | BLAKE3-128 is not supported
x | MD5 (alpha.txt) = @MD5\nSIZE (alpha.txt) = 7\n |  | 1 | alpha.txt: OK\nalpha.txt: FAILED (6 bytes instead of 7)\n | 0 OK, 1 FAILED\n
x | MD5 (alpha.txt) = @MD5\nSIZE (sub/b) = 1\n |  | 3 | sub/b: FAILED (a length and no digest)\n
x | MD5 (alpha.txt) = @MD5\nSIZE (alpha.txt) = 6x\n |  | 3 | (the length is not a number)
x | @SHA256  -\n |  | 0 | -: OK
SHA256SUMS | @SHA256  -\n |  | 0 | -: OK
x | @SHA256  alpha.txt\n@ZERO  sub\\b\n | --ignore-missing | 3 | (there is no such file; sub/b may be meant)\n
x | @SHA256  alpha.txt\n\\@ZERO  BACK\\\\s\n | --ignore-missing | 3 | may be meant)
x | @SHA256  alpha.txt\n@ZERO  back/S\n | --ignore-missing | 3 | may be meant)
x | @SHA256  alpha.txt\n@ZERO  ALPHA.TXT*\n | --ignore-missing | 3 | (there is no such file; alpha.txt may be meant)
x | @SHA256  alpha.txt\n@ZERO  ä\n | --ignore-missing | 3 | ä may be meant)
x | @SHA256  alpha.txt\n@ZERO   alpha.txt\n | --ignore-missing | 3 | alpha.txt may be meant)
x | @SHA256  c \n |  | 0 | c : OK\n
x | @SHA256  c \n@SHA256  alpha.txt \n | --ignore-missing | 3 | alpha.txt : FAILED (there is no such file; alpha.txt may be meant)\n
x | @SHA256  alpha.txt\n@SHA256 \talpha.txt\n | --ignore-missing | 3 | x:2: 
x | BLAKE3 ( alpha.txt ) = @BLAKE3\n | --ignore-missing | 3 | alpha.txt may be meant
x | \\@SHA256  alpha.txt \n |  | 3 | alpha.txt may be meant
x | {"path":"alpha.txt ","digest":"@BLAKE3"}\n |  | 3 | alpha.txt may be meant
x | @SHA256  alpha�txt\n |  | 3 | FAILED (Unicode replacement character in the file name
Release | Origin: x\nMD5Sum:\n @MD5 6 alpha.txt\n @MD5 6 new\nSHA256:\n @SHA256 6 alpha.txt\n @SHA256 6 new\n |  | 0 | 2 files checked: 2 OK, by MD5 and SHA-256
Release | Origin: x\nMD5Sum:\n @MD5 6 alpha.txt\n @MD5 6 new\nSHA256:\n @SHA256 6 alpha.txt\n @ZERO 6 new\n |  | 1 | 2 files checked: 1 OK | 1 FAILED
x | MD5 (alpha.txt) = @MD5\nMD5 (new) = 00000000000000000000000000000000\nSHA256 (alpha.txt) = @SHA256\nSHA256 (new) = @SHA256\n |  | 1 | 2 files checked: 1 OK | 1 FAILED
x | MD5 (alpha.txt) = @MD5\nMD5 (gone) = @MD5\nSHA256 (alpha.txt) = @SHA256\nSHA256 (gone) = @SHA256\n |  | 1 | 2 files checked: 1 OK, by MD5 and SHA-256 | 1 missing
x | @SHA256  alpha.txt\n@ZERO  gone\n | --ignore-missing | 0 | 1 OK, by SHA-256; 1 missing file ignored
x | @SHA256  alpha.txt\n@MD5  b@MD5  gone\n | --ignore-missing | 3 | its name may be two lines in one
x | @SHA256  /__w/x/alpha.txt\n |  | 1 | None of the listed files is here. But alpha.txt is: the list has the paths of the machine that made it.
x | @SHA256  gone\n |  | 1 | None of the listed files is here. Run this in the directory where the list was made.
x | {"path":"@ZERO","digest":"@BLAKE3"}\n |  | 1 | 1 missing
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"name":"b","sha256":null}]\n |  | 3 | b: FAILED (no digest)\n
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"name":"b","sha256":12345}]\n |  | 3 | b: FAILED (no digest)\n
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"name":"b","sha256":["@ZERO"]}]\n |  | 3 | b: FAILED (no digest)\n
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"path":"sub/b","hash":"00000000000000000000000000000000"}]\n |  | 1 | sub/b: FAILED\n
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"file":"sub/b","digest":"@ZERO"}]\n |  | 1 | sub/b: FAILED\n
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"b":"@ZERO"}]\n |  | 3 | x:1: JSON with a digest in b, where none is read\n
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"name":"gone","sha256":"@ZERO"}] | --ignore-missing | 0 | 1 OK, by SHA-256; 1 missing file ignored
x | [{"name":"alpha.txt","sha256":"@SHA256","sha256":"@SHA256"}]\n |  | 3 | a key that is there twice
x | {"assets":[{"name":"alpha.txt","sha256":"@SHA256"}],"x":[{"name":"b","sha256":"@ZERO"}]}\n |  | 3 | JSON with a digest in x, where none is read
x | {"files":[{"name":"alpha.txt","sha256":"@SHA256"}],"assets":{"name":"b","sha256":"@ZERO"}}\n |  | 3 | JSON with a digest in assets, where none is read
x | {"files":[{"name":"alpha.txt","sha256":"@SHA256"}],"sha256":{"sub/b":"x"}}\n |  | 3 | JSON with a digest in sha256, where none is read
x | {"files":[{"name":"alpha.txt","sha256":"@SHA256"}],"x":[["sub/b","@MD5"]]}\n |  | 3 | JSON with a digest in x, where none is read
x | {"files":[{"name":"alpha.txt","sha256":"@SHA256"}],"x":{"sub/b":"sha256:@BASE64"}}\n |  | 3 | JSON with a digest in x, where none is read
x | {"files":[{"name":"alpha.txt","sha256":"@SHA256"}],"x":{"@ZERO":"sub/b"}}\n |  | 3 | JSON with a digest in x, where none is read
x | {"name":"alpha.txt","sha256":"@SHA256","sub/b":"@ZERO"}\n |  | 3 | JSON with a digest in sub/b, where none is read
x | {"subject":[{"name":"alpha.txt","digest":{"sha256":"@SHA256"}}],"predicate":{"materials":[{"digest":{"sha1":"@SHA1"}}]}}\n |  | 0 | 1 OK
repodata.json | {"packages":[{"name":"sub/b","sha256":"@ZERO"}],"packages.conda":{"alpha.txt":{"sha256":"@SHA256"}}}\n |  | 3 | JSON with packages that have no names
x.dist-info/RECORD | alpha.txt,sha256=@BASE64,6\na.pyc,,\n | --strict | 3 | a.pyc: skipped (RECORD has no digest of such a file)\n | 1 OK, by SHA-256; 1 skipped
x.dist-info/RECORD | a.pyc,,\n |  | 3 | no file was verified: there is no digest in it
x | [{"name":"alpha.txt","sha256":"@SHA256"},{"name":"b","path":"c"}]\n |  | 3 | JSON with an entry that names no file, or several\n
x | [{"name":"alpha.txt","size":7,"sha256":"@SHA256"}]\n |  | 1 | (6 bytes instead of 7)
x | {"name":"x" |  | 3 | x:1: the JSON is cut off: 
repodata.json | {"packages":{"sub/b":{"name":"alpha.txt","sha256":"@SHA256"}}}\n |  | 1 | sub/b: FAILED\n
package-lock.json | {\n "name": "x"\n}\n |  | 3 | package-lock.json:1: not read here: `npm ci` verifies what it lists\n
x | foo==1.0 \\\n    --hash=sha256:@SHA256\n |  | 3 | pip install --require-hashes
x | #mtree\na sha256=@SHA256\n |  | 3 | x:1: not read here: `mtree -f` verifies
x | <?xml version="1.0"?>\n |  | 3 | x:1: XML is not read\n
x | Algorithm  Hash  Path\n |  | 3 | ConvertTo-Json
x | "Algorithm","Hash","Path"\n"SHA256","@UPPER","alpha.txt"\n |  | 3 | Import-Csv \| ConvertTo-Json
x | golang.org/x/text v0.3.0 h1:g61tztE5qeGQ89tm6NTjjM9VPIm088od1l6aSorWRWg=\n |  | 3 | go mod verify
Packages | Filename: alpha.txt\nSHA256: @SHA256\n\nFilename: b\n |  | 3 | b: FAILED (no digest)\n
Release | Origin: x\n @SHA256 6 b\nSHA256:\n @SHA256 6 alpha.txt\n |  | 3 | a digest in Origin, which is not a field of digests
Sources | Package: a\nFiles:\n @MD5 6 alpha.txt\n |  | 3 | no field Directory, which says where the files are
x.dist-info/RECORD | alpha.txt,sha256=@BASE64,6\nb.py,,\n |  | 3 | b.py: FAILED (no digest)\n
x | %%%% HASHDEEP-1.0\n%%%% size,md5,filename\n6,@MD5,alpha.txt\n6,@MD5\n |  | 3 | x:4: 
x | @BLAKE3  alpha.txt\nBLAKE3 (b) - @BLAKE3\n |  | 3 | x:2: 
x | @BLAKE3  alpha.txt\nBLAKE3: @BLAKE3 b\n |  | 3 | x:2: 
x | @BLAKE3  alpha.txt\n@BLAKE3,b\n |  | 3 | x:2: 
x | b @BLAKE3\n@BLAKE3  alpha.txt\n |  | 3 | x:1: 
x | @BLAKE3  alpha.txt\nb: @BLAKE3\n |  | 3 | x:2: 
x | @BLAKE3  alpha.txt\n0x@BLAKE3 b\n |  | 3 | x:2: 
x | @BLAKE3  alpha.txt\n\\@BLAKE3  b\\x\n |  | 3 | b\\\\x: FAILED (file name with an invalid escape)
x | @BLAKE3  alpha.txt\n0123456789abcdef  b\n |  | 3 | b: FAILED (digest of 8 bytes
x | BLAKE3 (alpha.txt) = @BLAKE3\nBLAKE3 (b\n |  | 3 | x:2: 
x | {"path":"b","path":"a","digest":"@BLAKE3"}\n |  | 3 | a key that is there twice
x | {"path":"a","path_hex":"62","digest":"@BLAKE3"}\n |  | 3 | path and path_hex are different names
x | {"path":"alpha.txt","digest":"@BLAKE3"}\n{"path":"b","digest":"@BLAKE3" |  | 3 | x:2: the JSON is cut off
x | -----BEGIN PGP SIGNED MESSAGE-----\n\nThe files of today (see below):\n@SHA256  alpha.txt\n-----BEGIN PGP SIGNATURE-----\n\niQIz\n-----END PGP SIGNATURE-----\n |  | 3 | x:3: no list that is known begins
repodata.json | {"packages":{"alpha.txt":{"sha256":"@SHA256"}},"b":{"sha256":"@SHA256"}} |  | 3 | JSON with a digest in b, where none is read
SHA256.sig | untrusted comment: verify with openbsd-75-base.pub\nRWR\nSHA256 (alpha.txt) = @SHA256\n |  | 3 | signed by signify or minisign
Cargo.lock | # This file is automatically @generated by Cargo.\nversion = 4\n\n[[package]]\nname = "a"\nchecksum = "@SHA256"\n |  | 3 | Cargo.lock:1: not read here: `cargo fetch` verifies what it lists\n | 0 files checked: 0 OK; 1 line not understood; 1 list failed
Packages.bz2 | BZh91AY&SY\0\0\n\0\n |  | 3 | Packages.bz2:1: compressed; decompress it, and pipe its text here\n | ; 1 line not understood
Release | Origin: x\nDate: y\n |  | 3 | Release:2: no field of digests\n | !no file was verified
gone |  |  | 3 | cannot open: No such file
"#;

fn filled(text: &str) -> String {
    let upper = SHA256.to_uppercase().into_bytes();
    let text = text.replace("@SIGNED", SIGNED);
    let groups: Vec<_> = upper.chunks(8).map(String::from_utf8_lossy).collect();
    [
        ("@SHA256", SHA256),
        ("@BASE64", "tqmNnOmi2RSSiPo99C03fD5Cc3r9za9xTjPAoQC1EGA"),
        ("@UPPER", &SHA256.to_uppercase()),
        ("@ZERO", &"0".repeat(64)),
        ("@GROUPS", &groups.join(" ")),
        ("@SHA512", SHA512),
        ("@SHA384", SHA384),
        ("@SHA224", SHA224),
        ("@SHA1", SHA1),
        ("@MD5", MD5),
        ("@BLAKE2B", BLAKE2B),
        ("@BLAKE3", BLAKE3),
    ]
    .iter()
    .fold(text, |text, (name, digest)| text.replace(name, digest))
}

/// The rows of a table.
fn rows(table: &str) -> impl Iterator<Item = Vec<String>> {
    let plain = |it: &str| {
        let it = it.replace("\\\\", "\x01").replace("\\|", "|").replace("\\n", "\n");
        let it = it.replace("\\r", "\r").replace("\\0", "\0").replace("\\t", "\t");
        filled(&it.replace('\x01', "\\"))
    };
    table.trim().lines().map(move |row| row.split(" | ").map(plain).collect())
}

fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["alpha.txt", "new\nline"] {
        folder.write(name, ALPHA);
    }
    folder
}

#[test]
fn check_reads_the_lists_of_other_programs() {
    for row in rows(FORMS) {
        let [name, text, options, by] = &row[..] else { panic!("{row:?}") };
        let folder = folder();
        folder.write(name, text);
        let check = |more: &str| folder.treewide(&format!("check {options} {more} {name}")).run();
        let good = check("");
        let by = if by.is_empty() { String::new() } else { format!(", by {by}") };
        good.fails(0, &[&format!(" OK{by}")]);
        let is_weak = by.contains("forged");
        let strong = check("--strong");
        assert_eq!(strong.code, Some(if is_weak { 3 } else { 0 }), "{name}: {text}: {strong:?}");
        // Other content of the same length, and none.
        for content in ["alphA\n", ""] {
            folder.write("alpha.txt", content);
            folder.write("new\nline", content);
            let ended = check("");
            assert_eq!(ended.code, Some(1), "{name}: {text}: {ended:?}");
            assert!(!ended.text().contains("OK"), "{name}: {text}: {ended:?}");
        }
    }
    println!("forms: {}", rows(FORMS).count());
}

#[test]
fn check_says_what_it_does_not_verify() {
    let folder = folder();
    for (name, content) in
        [("ä", "x"), ("sub/b", "b"), ("back\\s", "x"), ("empty", ""), ("c ", ALPHA), ("new", ALPHA)]
    {
        folder.write(name, content);
    }
    for row in rows(CASES) {
        let [name, text, options, code, said @ ..] = &row[..] else { panic!("{row:?}") };
        if name != "gone" {
            folder.write(name, text);
        }
        let check = |options: &str| {
            let check = folder.treewide(&format!("check {options} {name}"));
            let ended = check.stdin_file(folder.join("alpha.txt")).run();
            assert_eq!(ended.code, code.parse().ok(), "{text}: {ended:?}");
            [ended.text(), &ended.stderr].concat()
        };
        let all = check(options);
        for said in said {
            let is_it = said.strip_prefix('!').map_or(all.contains(said), |it| !all.contains(it));
            assert!(is_it, "{text}: {said}: {all}");
        }
        if name != "gone" {
            let is_silent = options.contains("--status");
            assert_eq!(if is_silent { all } else { check(&format!("{options} --status")) }, "");
            fs::remove_file(folder.join(name)).unwrap();
        }
    }
    println!("cases: {}", rows(CASES).count());
}

/// Neither the order of lines nor the number of threads changes a verdict.
#[test]
fn check_decides_each_line_alone() {
    let folder = Folder::new();
    let names: Vec<_> = (0..300).map(|i| format!("f{i:03}")).collect();
    for (i, name) in names.iter().enumerate() {
        // Some do not fit into a buffer for small files.
        folder.write(name, vec![i as u8; if i % 50 == 7 { 1_500_000 } else { i }]);
    }
    let blake3 = folder.treewide("sum").args(&names).run();
    let sha256 = folder.treewide("sum --algorithm sha256").args(&names).run();
    let sha256 = sha256.text().lines().map(|it| {
        let (name, digest) = it.strip_prefix("SHA256 (").unwrap().split_once(") = ").unwrap();
        format!("{digest}  {name}\n")
    });
    let blake3 = blake3.text().lines().map(|it| format!("{it}\n"));
    let both = blake3.zip(sha256).enumerate();
    let mut of_both: Vec<_> = both.map(|(i, it)| if i % 3 == 1 { it.1 } else { it.0 }).collect();
    names.iter().skip(3).step_by(10).for_each(|it| folder.write(it, "other"));
    let check = |list: &[String], threads: usize| {
        folder.write("list", list.concat());
        let ended = folder.treewide(&format!("check --threads {threads} list")).run();
        ended.fails(1, &["300 files checked: 270 OK", "30 FAILED"]);
        let mut lines: Vec<_> = ended.text().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let first = check(&of_both, 1);
    of_both.reverse();
    for threads in [1, 2, 7] {
        assert_eq!(check(&of_both, threads), first, "{threads} threads");
    }
}

#[test]
fn check_and_other_programs_agree() {
    let folder = folder();
    folder.write("beta two.txt", vec![7; 300_000]);
    folder.write("empty", "");
    let files = ["alpha.txt", "beta two.txt", "empty", "new\nline"];
    let mut cases = 0;
    for (program, args) in [
        ("sha256sum", &[][..]),
        ("sha256sum", &["--tag"]),
        ("sha256sum", &["-z"]),
        ("sha512sum", &["-b"]),
        ("sha384sum", &[]),
        ("sha224sum", &[]),
        ("sha1sum", &[]),
        ("md5sum", &[]),
        ("b2sum", &["--tag", "-l", "256"]),
        ("b2sum", &[]),
        ("shasum", &["-a", "512"]),
        ("openssl", &["dgst", "-sha256"]),
        ("openssl", &["dgst", "-sha3-256"]),
        ("openssl", &["dgst", "-sha512", "-r"]),
        ("rhash", &["--sha256", "--md5"]),
        ("rhash", &["--bsd", "--sha256"]),
        ("hashdeep", &["-c", "md5,sha256", "-b"]),
        ("busybox", &["sha512sum"]),
        ("gpg", &["--print-md", "SHA256"]),
        ("gpg", &["--print-md", "SHA512"]),
        ("gpg", &["--print-md", "MD5"]),
    ] {
        let Some(path) = find_program(program) else {
            skip(program, "it is not installed");
            continue;
        };
        // These do not escape line ends.
        let files = if program == "openssl" || program == "gpg" { &files[..3] } else { &files[..] };
        let list = folder.program(path).args(args).args(files).run();
        folder.write("list", &list.stdout);
        let n = files.len();
        let good = folder.treewide("check list").run();
        good.fails(0, &[&format!("{n} files checked: {n} OK")]);
        folder.write("beta two.txt", vec![8; 300_000]);
        folder.treewide("check list").run().fails(1, &["1 FAILED"]);
        folder.write("beta two.txt", vec![7; 300_000]);
        cases += 1;
    }
    println!("programs and options: {cases}");
}

#[test]
fn check_json_names_the_algorithm() {
    let folder = folder();
    folder.write("SHA256SUMS", format!("{SHA256}  alpha.txt\n"));
    folder.write("x", format!("{SHA1} ?SHA1*alpha.txt\n{SHA256}  alpha.txt\n"));
    folder.write("a.dsc", format!("Files:\n {MD5} 6 alpha.txt\n {MD5} 7 alpha.txt\n"));
    let check = |list: &str| {
        let ended = folder.treewide(&format!("check --json {list}")).run();
        let lines = ended.text().lines().filter(|it| !it.contains("\"summary\""));
        let lines = lines.map(|it| serde_json::from_str::<serde_json::Value>(it).unwrap());
        let keys = |it: &serde_json::Value| {
            ["verdict", "algorithm", "by", "expected_bytes"].map(|key| it[key].to_string())
        };
        lines.map(|it| keys(&it).join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(check("SHA256SUMS"), [r#""ok" "sha256" "list-name" null"#]);
    assert_eq!(check("x"), [r#""ok" "sha1" "tag" null"#, r#""ok" "sha256" "length" null"#]);
    assert_eq!(check("a.dsc"), [r#""ok" "md5" "tag" 6"#, r#""failed" "md5" "tag" 7"#]);
    let ended = folder.treewide("check --json a.dsc").run();
    assert!(ended.text().contains(r#""detail":"6 bytes instead of 7""#), "{ended:?}");
    assert_eq!(
        folder.treewide("check a.dsc").run().text(),
        "alpha.txt: OK\nalpha.txt: FAILED (6 bytes instead of 7)\n"
    );
}

#[test]
fn check_says_that_a_long_file_is_read_by_one_thread() {
    let folder = folder();
    folder.write("SHA256SUMS", format!("{SHA256}  alpha.txt\n"));
    folder.write("long", vec![0; 3_000_000]);
    let list = folder.program("sha256sum").arg("long").run();
    folder.write("long.sha256", &list.stdout);
    let ended = folder.treewide("check --progress long.sha256").run();
    ended.fails(0, &["one thread a file"]);
    // Two algorithms are tried, and the file is counted once.
    folder.write("x", &list.stdout);
    folder.treewide("check --progress x").run().fails(0, &["1 file, 2.86 MiB", "by SHA-256"]);
}

/// One reading is enough for all digests of a file.
#[test]
fn check_reads_a_file_once_for_several_digests() {
    let folder = folder();
    let wrong = SHA512.replace('6', "7");
    folder.write(
        "x",
        format!(
            "MD5 (alpha.txt) = {MD5}\nSHA256 (alpha.txt) = {SHA256}\nSHA512 (alpha.txt) = {wrong}\n"
        ),
    );
    let ended = folder.treewide("check --progress x").run();
    assert_eq!(ended.text(), "alpha.txt: OK\nalpha.txt: OK\nalpha.txt: FAILED\n");
    ended.fails(1, &["1 file, 6 B", "1 file checked: 0 OK", "1 FAILED"]);
    folder.write("x", format!("MD5 (gone) = {MD5}\nSHA256 (gone) = {SHA256}\n"));
    let ended = folder.treewide("check x").run();
    let line = "gone: FAILED (cannot open: No such file or directory (os error 2))\n";
    assert_eq!(ended.text(), line.repeat(2));
    ended.fails(1, &["1 missing"]);
}

/// A program that reads JSON learns why the check fails. A document that is too long was once cut to the lines that fit.
#[test]
fn check_has_a_record_of_each_failure_of_a_list() {
    let folder = folder();
    let good = filled("@SHA256  alpha.txt\n");
    let lines = (" ".repeat(1022) + "1,\n").repeat((16 << 10) - 1);
    folder.write("cut", format!("{good}pro"));
    folder.write("prose", "prose\n");
    folder.write("long", vec![b'x'; 16 << 20]);
    folder.write("document", format!("[\n{lines}{lines}"));
    for (list, status, error) in [
        ("cut", "unverified", "line 2: expected `DIGEST  FILE`, found: pro; the list"),
        ("prose", "unverified", "line 1: no list that is known begins like this: prose"),
        ("long", "unreadable", "is not a list of digests: it has a line of 16 MiB or more"),
        ("document", "unverified", "line 32767: JSON of 16 MiB or more"),
        ("gone", "unreadable", "cannot open: No such file or directory (os error 2)"),
    ] {
        let ended = folder.treewide(&format!("check --json {list}")).run();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let (record, error) = (format!(r#"{{"path":"{list}","#), format!(r#""{error}"#));
        let is_it =
            |it: &&str| it.starts_with(&record) && it.contains(status) && it.contains(&error);
        assert!(ended.text().lines().any(|it| is_it(&it)), "{list}: {ended:?}");
    }
}
