//! `treewide outboard`: files, names, words, exit codes.

use crate::support::{Folder, hex};
use std::fs;

/// Bytes without a pattern.
pub(crate) fn content(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// `f` with `len` bytes and its outboard. `SUMS` has its digest.
pub(crate) fn made(len: usize) -> Folder {
    let folder = Folder::new();
    folder.write("f", content(len));
    let ended = folder.treewide("outboard create f").run();
    ended.succeeds_with(format!("{}  f\n", hex(content(len))));
    folder.write("SUMS", &ended.stdout);
    folder
}

pub(crate) fn flip(folder: &Folder, name: &str, at: usize) {
    let mut bytes = fs::read(folder.join(name)).unwrap();
    bytes[at] ^= 1;
    folder.write(name, bytes);
}

#[test]
fn outboard_create_writes_the_files_of_others() {
    let folder = made(100_000);
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4"]);
    let digest = hex(content(100_000));
    let outboard = |args: &str| folder.treewide(&format!("outboard {args}")).run();
    let pairs = |log2| {
        let group = treewide::outboard::Group::new(log2).unwrap();
        treewide::outboard::create(&content(100_000), group, treewide::Mode::PLAIN).1
    };
    assert_eq!(fs::read(folder.join("f.obao4")).unwrap(), pairs(4));
    assert_eq!(outboard("create --group 64K f").code, Some(0));
    assert_eq!(fs::read(folder.join("f.obao6")).unwrap(), pairs(6));
    // The name says what it is like.
    assert_eq!(outboard("create f -o other.obao1").code, Some(0));
    assert_eq!(fs::read(folder.join("other.obao1")).unwrap(), pairs(1));
    let json = outboard("create --group 1K f --json");
    let expected = format!(
        "{{\"path\":\"f\",\"verdict\":\"hashed\",\"type\":\"file\",\"bytes\":100000,\"evidence\":\"read\",\"detail\":null,\
         \"digest\":\"{digest}\",\"outboard\":\"f.obao0\",\
         \"outboard_bytes\":6208,\"group\":1024}}\n"
    );
    json.succeeds_with(expected);
    assert_eq!(fs::read(folder.join("f.obao0")).unwrap(), pairs(0));
    for name in ["f.obao4", "f.obao6", "other.obao1", "f.obao0"] {
        let verified = outboard(&format!("verify f --outboard {name} --expect {digest}"));
        verified.fails(0, &["f: verified: 97.66 KiB in "]);
    }
    outboard("verify f").fails(3, &["f: has more than one outboard; name f.obao0 or "]);
    outboard("verify f --group 64K").fails(0, &["consistent with its outboard"]);
}

#[test]
fn outboard_create_replaces_no_data_and_reads_no_pipe() {
    let folder = made(20_000);
    let outboard = |args: &str| folder.treewide(&format!("outboard {args}")).run();
    outboard("create f -o f").fails(1, &["f: is an input"]);
    fs::hard_link(folder.join("f"), folder.join("link")).unwrap();
    outboard("create f -o link").fails(1, &["f: is an input"]);
    folder.fifo("pipe");
    outboard("create pipe").fails(1, &["pipe: is not a regular file"]);
    outboard("create .").fails(1, &[".: is a directory"]);
    outboard("create nothing").fails(1, &["nothing: "]);
    outboard("create f -o missing/f").fails(1, &["missing/f: cannot write the output"]);
    // A name that would mislead.
    let words = ["g.obao4: its name says groups of 16.00 KiB, and groups of 1.00 MiB were asked"];
    outboard("create f --group 1M -o g.obao4").fails(1, &words);
    outboard("create f --group 3K").fails(2, &["a power of two of bytes"]);
    outboard("create f --group 128M").fails(2, &["from 1K to 64M"]);
    assert_eq!(fs::read(folder.join("f")).unwrap(), content(20_000));
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4", "link", "pipe"]);
}

#[test]
fn outboard_verify_names_the_damaged_bytes() {
    let folder = made(100_000);
    let verify = |args: &str| folder.treewide(&format!("outboard verify f {args}")).run();
    verify("--expect SUMS").is(0, "", "treewide: f: verified: 97.66 KiB in 7 groups\n");
    verify("--expect SUMS -q").succeeds_with("");
    let said = verify("");
    let words =
        ["f: consistent with its outboard f.obao4: 97.66 KiB in 7 groups; nothing was verified"];
    said.fails(0, &words);
    flip(&folder, "f", 40_000);
    verify("--expect SUMS").is(
        1,
        "BAD      32768..49152\n",
        "treewide: f: 1 of 7 groups is bad: 32768..49152 (16.00 KiB of 97.66 KiB); the outboard is intact there\n",
    );
    verify("--expect SUMS --range ..32K").is(
        0,
        "",
        "treewide: f: verified: 32.00 KiB in 2 groups\n",
    );
    assert_eq!(verify("--expect SUMS --range 40K..+1").text(), "BAD      32768..49152\n");
    assert_eq!(verify("--expect SUMS --range 1..2 --range 90000..").code, Some(0));
    let json = verify("--expect SUMS --json");
    assert_eq!(json.code, Some(1));
    let lines: Vec<serde_json::Value> =
        json.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["verdict"], "bad");
    assert_eq!((&lines[0]["start"], &lines[0]["end"]), (&32768.into(), &49152.into()));
    assert_eq!((&lines[1]["verdict"], &lines[1]["bad"]), (&"differs".into(), &16384.into()));
    // The pair above the groups 0 and 1: nothing is known of these two, and the rest is as it was.
    flip(&folder, "f.obao4", 2 * 64 + 5);
    let ended = verify("--expect SUMS");
    assert_eq!((ended.code, ended.text()), (Some(3), "UNKNOWN  0..32768\nBAD      32768..49152\n"));
    ended.fails(3, &["2 of 7 groups are unknown, as f.obao4 is broken above them"]);
    assert_eq!(verify("--expect SUMS --range 90000..").code, Some(0));
}

#[test]
fn outboard_verify_sees_files_that_are_shorter_or_longer() {
    let folder = made(100_000);
    let verify =
        |args: &str| folder.treewide(&format!("outboard verify f --expect SUMS {args}")).run();
    // In the last group: the outboard fits both lengths, and the digest does not.
    folder.write("f", &content(100_000)[..99_999]);
    assert_eq!(verify("").text(), "BAD      98304..99999\n");
    assert_eq!(verify("--size 100000").text(), "BAD      98304..100000\n");
    folder.write("f", [&content(100_000)[..], b"more"].concat());
    assert_eq!(verify("--size 100000").text(), "EXTRA    100000..100004\n");
    assert_eq!(verify("--size 100000 --range 90000..").text(), "EXTRA    100000..100004\n");
    assert_eq!(verify("--size 100000 --range ..90000").code, Some(0));
    // By whole groups: the outboard does not fit.
    folder.write("f", &content(100_000)[..50_000]);
    verify("").fails(3, &["f.obao4: has 384 bytes, and an outboard of 50000 bytes", "--size"]);
    let ended = verify("--size 100000");
    assert_eq!((ended.code, ended.text()), (Some(1), "BAD      49152..100000\n"));
    verify("--range 200K..").fails(3, &["--size"]);
    verify("--size 100000 --range 200K..").fails(3, &["f: has no byte 204800"]);
}

#[test]
fn outboard_verify_takes_only_a_digest_of_this_file() {
    let folder = made(20_000);
    let verify = |args: &str| folder.treewide(&format!("outboard verify f {args}")).run();
    let other = hex("other");
    verify(&format!("--expect {other}")).fails(3, &["unknown", "belongs to another digest"]);
    verify("--expect 123").fails(2, &["--expect"]);
    verify("--expect nothing").fails(2, &["neither a digest", "nor a list"]);
    folder.write("LIST", format!("{other}  g\n# f\n"));
    verify("--expect LIST").fails(3, &["LIST: has no digest of f"]);
    let digest = hex(content(20_000));
    folder.write("LIST", format!("{digest}  ./f\n{other}  f\n"));
    verify("--expect LIST").fails(3, &["LIST:2: has another digest of f than a line before"]);
    folder.write("LIST", format!("BLAKE3 (f) = {digest}\n"));
    assert_eq!(verify("--expect LIST").code, Some(0));
    // One group: its outboard is empty, and says nothing.
    folder.write("f", "short");
    fs::remove_file(folder.join("f.obao4")).unwrap();
    verify("").fails(3, &["f: has no outboard f.obao4; make it with 'treewide outboard create'"]);
    assert_eq!(folder.treewide("outboard create f").run().code, Some(0));
    verify("").fails(3, &["f.obao4: an outboard of one group is empty"]);
    verify(&format!("--expect {}", hex("short"))).fails(0, &["verified: 5 B in 1 group"]);
    verify(&format!("--expect {other}")).fails(1, &["1 of 1 group is bad: 0..5"]);
    // No bytes are also a group.
    folder.write("f", "");
    verify(&format!("--expect {other} --range 0..1")).fails(1, &["1 of 1 group is bad: 0..0"]);
    verify(&format!("--expect {} --range 0..1", hex(""))).fails(0, &["verified: 0 B in 1 group"]);
}

#[test]
fn outboard_slices_are_verified_on_both_sides() {
    let folder = made(100_000);
    let (all, digest) = (content(100_000), hex(content(100_000)));
    let outboard = |args: &str| folder.treewide(&format!("outboard {args}"));
    let ranges = "--range 1K..+5 --range 60000..70000";
    assert_eq!(outboard(&format!("slice f {ranges} -o slice")).run().code, Some(0));
    let unslice = format!("unslice slice --expect {digest} --size 100000 {ranges}");
    let expected = [&all[1024..1029], &all[60_000..70_000]].concat();
    assert_eq!(outboard(&unslice).run().stdout, expected);
    let slice = fs::read(folder.join("slice")).unwrap();
    assert!(slice.len() < 15_000);
    let piped = outboard(&unslice.replace("slice slice", "slice -")).stdin(&slice).run();
    assert_eq!((piped.code, piped.stdout), (Some(0), expected.clone()));
    // Cut off, longer, changed, of another length: no file appears, and what was printed before is right.
    let mut changed = slice.clone();
    changed[3000] ^= 1;
    for (wrong, words) in [
        (slice[..2000].to_vec(), "the slice ends before"),
        ([&slice[..], b"x"].concat(), "continues after its end"),
        (changed, "does not belong to the digest"),
    ] {
        folder.write("wrong", wrong);
        let unslice = unslice.replace("slice slice", "slice wrong");
        outboard(&format!("{unslice} -o out")).run().fails(1, &["wrong: ", words]);
        assert!(!folder.join("out").exists());
        assert!(expected.starts_with(&outboard(&unslice).run().stdout));
    }
    outboard(&unslice.replace("100000", "100001")).run();
    outboard(&unslice.replace(&digest, &hex("other"))).run().fails(1, &["slice: "]);
    outboard("slice f --range 5..5").run().fails(2, &["it has no bytes"]);
    outboard("slice f").run().fails(2, &["--range"]);
    outboard("slice f --range 0.. -o f").run().fails(1, &["f: is an input"]);
    // One group needs no pair.
    folder.write("short", "abc");
    outboard("create short").run().fails(0, &[]);
    assert_eq!(outboard("slice short --range 0..").run().stdout, b"abc");
    // Of damaged data no slice is made.
    flip(&folder, "f", 65_000);
    outboard(&format!("slice f {ranges} --force -o slice"))
        .run()
        .fails(1, &["f: the bytes 49152..65536"]);
    assert_eq!(fs::read(folder.join("slice")).unwrap(), slice);
}

#[test]
fn outboard_help_and_man_page() {
    let folder = Folder::new();
    let page = folder.treewide("man outboard").run();
    for command in ["create", "verify", "repair", "slice", "unslice"] {
        assert!(page.text().contains(command), "{command}");
        let help = folder.treewide(&format!("outboard {command} --help")).run();
        assert!(help.text().contains("Examples:") && help.text().contains("Exit status:"));
    }
}

#[test]
fn outboard_repair_writes_the_bad_groups_only() {
    let folder = made(100_000);
    let all = content(100_000);
    let repair = |args: &str| folder.treewide(&format!("outboard repair f {args}")).run();
    // The copy is damaged elsewhere.
    let mut copy = all.clone();
    copy[1] ^= 1;
    folder.write("copy", &copy);
    repair("--from copy --expect SUMS").is(
        0,
        "",
        "treewide: f: nothing is damaged, by the digest\n",
    );
    flip(&folder, "f", 40_000);
    flip(&folder, "f", 99_000);
    let ended = repair("--from copy --expect SUMS --range 90000..");
    ended.is(0, "REPAIRED 98304..100000\n", "treewide: f: 1.66 KiB repaired by the digest\n");
    let ended = repair("--from copy --json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.text().starts_with(
        "{\"path\":\"f\",\"verdict\":\"repaired\",\"type\":\"range\",\"bytes\":16384,"
    ));
    assert_eq!(ended.text().lines().count(), 2);
    assert!(ended.stderr.contains("repaired by its outboard, as no digest was given"));
    assert_eq!(fs::read(folder.join("f")).unwrap(), all);
    // What is damaged in both stays, and the copy is not written.
    flip(&folder, "f", 5);
    let ended = repair("--from copy --expect SUMS");
    ended.is(
        1,
        "BAD      0..16384\n",
        "treewide: f: 0 B repaired by the digest; 16.00 KiB not right in copy either: 0..16384\n",
    );
    assert_eq!(fs::read(folder.join("copy")).unwrap(), copy);
    // A file that was cut off is made whole.
    folder.write("f", &all[..50_000]);
    folder.write("copy", &all);
    assert_eq!(repair("--from copy --expect SUMS --size 100000").code, Some(0));
    assert_eq!(fs::read(folder.join("f")).unwrap(), all);
    repair("--from f").fails(3, &["f: is the file itself, and no copy of it"]);
    repair("--from nothing").fails(3, &["nothing: "]);
    flip(&folder, "f.obao4", 2 * 64);
    repair("--from copy --expect SUMS").fails(3, &["unknown, as f.obao4 is broken above them"]);
}

#[test]
#[cfg(target_os = "linux")]
fn outboard_refuses_files_whose_length_is_a_guess() {
    let folder = made(20_000);
    let outboard = |args: &str| folder.treewide(&format!("outboard {args}")).run();
    for file in ["/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled"] {
        if !std::path::Path::new(file).exists() {
            println!("SKIPPED: there is no {file}");
            continue;
        }
        let said = format!("{file}: its length is not known before it is read; copy it");
        outboard(&format!("create {file} -o o.obao4")).fails(1, &[&said]);
        let empty = hex("");
        let verify = format!("verify {file} --outboard f.obao4 --size 0 --expect {empty}");
        outboard(&verify).fails(3, &[&said]);
    }
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4"]);
}

#[test]
fn outboard_of_a_keyed_digest() {
    let folder = Folder::new();
    let mut all = content(100_000);
    folder.write("f", &all);
    let key = [7; 32];
    let keyed = |args: &str| folder.treewide(&format!("outboard {args} --keyed")).stdin(key).run();
    let digest = |all: &[u8]| treewide::keyed_hash(&key, all).to_hex();
    let ended = keyed("create f");
    ended.succeeds_with(format!("{}  f\n", digest(&all)));
    folder.write("SUMS", &ended.stdout);
    keyed("verify f --expect SUMS").fails(0, &["f: verified: "]);
    let plain = |args: &str| folder.treewide(&format!("outboard {args}")).run();
    plain("verify f --expect SUMS").fails(3, &["or was made with --keyed or --derive-key"]);
    plain("verify f").fails(3, &["unknown"]);
    // A slice and a repair.
    assert_eq!(keyed("slice f --range 5..10 -o slice").code, Some(0));
    let unslice = format!("unslice slice --expect {} --size 100000 --range 5..10", digest(&all));
    assert_eq!(keyed(&unslice).stdout, all[5..10]);
    plain(&unslice).fails(1, &["slice: "]);
    assert_eq!(folder.treewide("outboard create f --derive-key x -o d.obao4").run().code, Some(0));
    fs::copy(folder.join("f"), folder.join("copy")).unwrap();
    flip(&folder, "f", 40_000);
    keyed("repair f --from copy --expect SUMS").is(
        0,
        "REPAIRED 32768..49152\n",
        "treewide: f: 16.00 KiB repaired by the digest\n",
    );
    all[40_000] ^= 1;
    folder.write("f", &all);
    keyed("create f --force").succeeds_with(format!("{}  f\n", digest(&all)));
    let derived = folder.treewide("outboard verify copy --outboard d.obao4 --derive-key x").run();
    derived.fails(0, &["copy: consistent with its outboard d.obao4"]);
}

#[test]
fn outboard_output_replaces_no_input() {
    let folder = made(20_000);
    folder.write("copy", content(20_000));
    let before = folder.read("SUMS");
    for (command, code) in
        [("verify f", 3), ("repair f --from copy", 3), ("slice f --range 0..", 1)]
    {
        for input in ["f", "f.obao4", "SUMS"] {
            let args = format!("outboard {command} --expect SUMS -o {input}");
            folder.treewide(&args).run().fails(code, &[&format!("{input}: is an input")]);
        }
    }
    let args = "outboard repair f --from copy --expect SUMS -o copy";
    folder.treewide(args).run().fails(3, &["copy: is an input"]);
    assert_eq!(folder.read("SUMS"), before);
    assert!(fs::read(folder.join("f")).unwrap() == fs::read(folder.join("copy")).unwrap());
}

#[test]
fn outboard_messages_name_the_file_once() {
    let folder = made(100_000);
    let outboard = |args: &str| folder.treewide(&format!("outboard {args}")).run();
    folder.write("copy", content(100_000));
    outboard("repair f --from copy --range 200K..").fails(3, &["f: has no byte 204800"]);
    // One group, named twice.
    flip(&folder, "f", 5);
    folder.write("copy", "bad");
    let ended = outboard("repair f --from copy --range 0..1 --range 5..6");
    assert_eq!((ended.code, ended.text()), (Some(1), "BAD      0..16384\n"));
    outboard("verify f --size 200000").fails(3, &["f.obao4: has 384 bytes", "--size says"]);
}

#[test]
#[cfg(target_os = "linux")]
fn outboard_json_has_all_bytes_of_names() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"n\xff");
    fs::write(folder.join(name), content(20_000)).unwrap();
    for command in ["create", "verify"] {
        let ended = folder.treewide("outboard").args([command, "--json"]).arg(name).run();
        let value: serde_json::Value = serde_json::from_str(ended.text()).unwrap();
        assert_eq!(value["path_hex"], "6eff", "{ended:?}");
        if command == "create" {
            assert_eq!(value["outboard_hex"], "6eff2e6f62616f34", "{ended:?}");
        }
    }
}
