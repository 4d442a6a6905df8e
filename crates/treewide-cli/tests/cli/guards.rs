//! Guarantees of manifests: records that must never be lost, and messages that must never appear. Each case runs as a
//! user's night job would. One file although it is long: the cases are one table.

use crate::case::{Case, LEFT};
use crate::refused::refuser;
use crate::support::{Folder, hex, is_root, skip, sums};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

#[test]
fn update_of_a_directory_without_anything_recorded_changes_nothing() {
    let case = Case::new();
    for dir in ["empty", "disk/lost+found"] {
        fs::create_dir_all(case.folder.join(dir)).unwrap();
        let dir = dir.split('/').next().unwrap();
        for command in ["update", "update --full", "scrub", "update -q"] {
            let says = [
                "none of the 3 files recorded is there",
                "nothing was written",
                "--max-removed 100%",
            ];
            case.keeps(3, &format!("{command} p.b3 {dir}"), &says);
        }
    }
    // The disk comes back, with a file that rotted when no one looked.
    case.rot("f1");
    let way_out = "or accept its content: treewide update --accept-rot ./f1 p.b3 t\n";
    case.keeps(1, "verify p.b3 t", &["1 rot", way_out]).prints("ROT      f1");
    case.run("update --max-removed 100% p.b3 empty").is_code(0);
    // Nothing was lost.
    assert!(case.folder.read("p.b3.past").contains(&hex("content of f1")));
    assert_eq!(case.folder.read("p.b3"), "");
}

#[test]
fn update_says_what_new_rules_leave_out() {
    let case = Case::new();
    fs::remove_file(case.folder.join("t/f2")).unwrap();
    let said = case.run("update --exclude d --exclude f2 p.b3 t");
    said.is_code(0).prints("REMOVED  f2");
    assert!(!said.0.text().contains("f3"), "{:?}", said.0);
    let says = "2 recorded paths not covered any more by the rules, and not in the new manifest";
    assert!(said.0.stderr.contains(says), "{:?}", said.0);
    assert!(!case.run("update p.b3 t").0.stderr.contains("not covered"));
    // And those of hidden files.
    case.folder.write("t/.hidden", "hidden");
    case.run("update p.b3 t").is_code(0);
    let said = case.run("update --no-hidden --json p.b3 t");
    said.is_code(0).prints("\"removed\":0").prints("\"uncovered\":1");
}

#[test]
fn update_names_what_it_had_nothing_to_accept_of() {
    let case = Case::new();
    case.flip("f1");
    let said = case.run("update --accept-rot zzz --accept-rot f* p.b3 t");
    said.is_code(0).prints("ACCEPTED f1");
    assert!(
        said.0.stderr.contains("--accept-rot zzz: no file that is ROT or SUSPECT has such a name")
    );
    assert!(!said.0.stderr.contains("--accept-rot f*"), "{:?}", said.0);
}

/// The names of a list are those of the directory above: its files are there under other names, and nothing of it is lost.
#[test]
fn names_of_another_directory_lose_no_digest() {
    let case = Case::new();
    case.run("sum -r t -o d.b3").is_code(0);
    case.flip("f1");
    case.run("update d.b3 t").is_code(0).prints("MOVED    t/f2 -> f2").prints("REMOVED  t/f1");
    assert!(case.folder.read("d.b3.past").contains(&hex("content of f1")));
}

#[test]
fn directory_whose_listing_fails_is_not_empty() {
    let case = Case::new();
    let library = match refuser(&case.folder) {
        Ok(library) => library,
        Err(cause) => return skip("listings that fail", cause),
    };
    let before = case.pair();
    let refused = |args: &str| {
        let program = case.folder.treewide(args).env("LD_PRELOAD", &library);
        program.env("REFUSE", "217:2").run()
    };
    let verified = refused("verify p.b3 t");
    verified.fails(3, &[]);
    assert!(!verified.text().contains("REMOVED"), "{verified:?}");
    let updated = refused("update p.b3 t");
    updated.fails(3, &[]);
    assert!(!updated.text().contains("REMOVED"), "{updated:?}");
    assert_eq!(case.pair()[0], before[0]);
    refused("snapshot t -o new.b3").fails(3, &[]);
    refused("sum -r t").fails(1, &[]);
}

/// As a file system answers whose store has lost the blocks of a file.
#[test]
fn file_that_is_listed_and_cannot_be_opened_is_not_gone() {
    let case = Case::new();
    let library = match refuser(&case.folder) {
        Ok(library) => library,
        Err(cause) => return skip("files that cannot be opened", cause),
    };
    let before = case.pair();
    for command in ["verify p.b3 t", "update --full p.b3 t"] {
        // Files that a walk found are opened with O_NOFOLLOW, and folders with O_PATH or O_DIRECTORY as well; ENOENT is the error. The
        // first file of a folder is opened again without that flag.
        let program = case.folder.treewide(command).env("LD_PRELOAD", &library);
        let ended = program.env("REFUSE", "257:2:2:20000:210000").run();
        ended.fails(3, &["1 unreadable"]);
        assert!(ended.text().contains("is in its directory, and cannot be read"), "{ended:?}");
        assert!(case.pair()[0] == before[0], "{command}");
    }
}

#[test]
fn update_never_mends_a_damaged_index_by_a_bad_digest() {
    type Edit = fn(&str) -> String;
    let edits: [(&str, Edit); 7] = [
        ("its last line is cut", |it| it[..it.trim_end().rfind('\n').unwrap() + 1].into()),
        ("cut in the middle", |it| it[..it.len() / 2].into()),
        ("zeros", |it| "\0".repeat(it.len())),
        ("empty", |_| String::new()),
        ("of another list", |it| it.replace("\"list\":\"", "\"list\":\"0")),
        ("a line that is not JSON", |it| it.replacen("{\"path\":\"f2\"", "{path:\"f2\"", 1)),
        // By its time, the rot would be a change.
        ("a digit of a time", |it| it.replacen("\"mtime\":1", "\"mtime\":2", 1)),
    ];
    for (what, edit) in edits {
        let case = Case::new();
        case.rot("f1");
        case.folder.write("p.b3.tw", edit(&case.folder.read("p.b3.tw")));
        let said = case.run("verify p.b3 t").0;
        said.fails(3, &["`treewide update --accept-damage p.b3 t` writes a new one"]);
        for command in ["update", "update --full", "scrub --budget 100%", "update -q", "scrub"] {
            println!("{what}: {command}");
            case.keeps(3, &format!("{command} p.b3 t"), &["p.b3.tw: "]);
        }
        // A user who accepts that has the old digest all the same.
        case.run("update --accept-damage p.b3 t").is_code(1).prints("f1");
        case.has_old("f1");
        case.run("verify p.b3 t").is_code(1).prints("f1");
        case.run("update --accept-rot f1 p.b3 t").is_code(0);
        case.run("verify p.b3 t").is_code(0);
    }
}

#[test]
fn update_without_an_index_keeps_digests_that_may_be_those_of_good_content() {
    let case = Case::new();
    case.flip("f1");
    fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    for _ in 0..2 {
        let said = case.run("update p.b3 t");
        said.is_code(1).prints("CHANGED  f1  (no times are recorded");
        assert!(said.0.stderr.contains("1 old digest kept"), "{said:?}", said = said.0);
        case.has_old("f1");
    }
    case.folder.write("p.b3", "");
    fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    case.keeps(3, "update p.b3 t", &["names no file", "nothing was written"]);
}

#[test]
fn files_with_odd_times_rot_as_others_do() {
    for time in ["tomorrow", "2300-01-01", "1601-01-01", "1969-12-31"] {
        let case = Case::new();
        let path = case.folder.join("t/f1");
        if !Command::new("touch").args(["-d", time]).arg(&path).status().unwrap().success() {
            skip(time, "the file system does not have this time");
            continue;
        }
        for is_old in [false, true] {
            if is_old {
                case.folder.age();
            }
            case.anew("t");
            case.rot("f1");
            case.run("verify p.b3 t").is_code(1).prints("ROT      f1");
            let old = case.pair()[0].clone();
            for _ in 0..2 {
                case.run("update --full p.b3 t").is_code(1).prints("ROT      f1");
                assert!(case.pair()[0] == old);
            }
            case.rot("f1");
        }
    }
}

#[test]
fn other_content_with_the_same_mtime_is_suspect() {
    let case = Case::new();
    case.rot("f1");
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(case.folder.join("t/f1"), mode).unwrap();
    for command in
        ["verify", "verify --quick", "verify --fail-on added", "update", "update", "update -q"]
    {
        case.run(&format!("{command} p.b3 t")).is_code(1).prints("SUSPECT  f1");
        case.has_old("f1");
    }
    let json = case.run("verify --json p.b3 t");
    json.is_code(1).prints("\"verdict\":\"suspect\"").prints("\"evidence\":\"read\"");
    case.run("update --accept-rot f1* p.b3 t").is_code(0).prints("ACCEPTED f1");
    case.run("verify p.b3 t").is_code(0);
    // An edit moves mtime.
    case.folder.write("t/f1", "an edit of f1");
    case.run("update p.b3 t").is_code(0).prints("CHANGED  f1");
    case.run("verify p.b3 t").is_code(0);
}

#[test]
fn diff_tells_rot_from_a_change() {
    let case = Case::new();
    case.run("snapshot t -o a.b3").is_code(0);
    case.rot_in("a.b3.tw", "f1");
    case.flip("f2");
    case.folder.write("t/d/f3", "an edit");
    case.run("snapshot t -o b.b3").is_code(0);
    let said = case.run("diff a.b3 b.b3 --fail-on added");
    said.is_code(1).prints("CHANGED  d/f3").prints("ROT      f1").prints("SUSPECT  f2");
    let json = case.run("diff a.b3 b.b3 --json");
    json.prints("\"evidence\":\"claimed\"").prints("\"by_read\":0,");
    case.run("verify a.b3 t").is_code(1).prints("ROT      f1");
}

#[test]
fn scrub_spends_nothing_on_what_is_read_anyway() {
    let folder = Folder::new();
    let case = Case { folder };
    case.folder.write("t/big", vec![7; 1 << 20]);
    for at in 0..20 {
        case.folder.write(format!("t/small{at:02}"), vec![at; 10_000]);
    }
    case.folder.age();
    case.run("snapshot t -o p.b3").is_code(0);
    case.rot("big");
    case.run("update --full p.b3 t").is_code(1).prints("ROT      big");
    let days_back = |text: &str| {
        let today = text.split("\"read\":\"").nth(1).unwrap().split('"').next().unwrap();
        text.replace(today, "2026-01-01")
    };
    case.edit_index(days_back);
    let left = || {
        let text = case.folder.read("p.b3.tw");
        let is_left = |it: &&str| it.contains("\"read\":\"2026-01-01\"") && !it.contains("since");
        text.lines().filter(is_left).count()
    };
    let mut read = 0;
    // As many as the first of them says.
    for night in 0..3 {
        let before = left();
        let said = case.run("scrub --budget 5% p.b3 t");
        said.is_code(1).prints("ROT      big");
        let says = ["about 3 runs read all files", "the oldest reading is of"];
        assert!(said.0.stderr.contains(says[usize::from(night > 0)]), "{:?}", said.0);
        let left = left();
        assert!(left < before || left == 0, "night {night}: {left} of {before} have had no turn");
        read += before - left;
    }
    assert_eq!(read, 20);
    case.run("scrub --budget 50% p.b3 t").0.fails(1, &["1 run reads all files"]);
    case.run("scrub --budget 5 p.b3 t").0.fails(2, &["write 5% or 5G"]);
}

#[test]
fn outputs_are_never_inputs() {
    let case = Case::new();
    case.run("snapshot t -o q.b3").is_code(0);
    case.folder.write("p.b3.part", "mine");
    let names = ["p.b3", "p.b3.tw", "p.b3.part", "q.b3.tw", "t/f1"];
    let before: Vec<_> = names.iter().map(|it| case.folder.read(it)).collect();
    for output in names {
        let html = format!("verify p.b3 t --html {output}");
        for args in
            [format!("diff p.b3 q.b3 -o {output}"), format!("verify p.b3 t -o {output}"), html]
        {
            let is_other = args.starts_with("verify") && output.starts_with('q');
            if is_other || args.starts_with("diff") && output == "t/f1" {
                continue;
            }
            case.run(&args).0.fails(2, &[output, "name another file"]);
        }
    }
    case.run("diff p.b3 t -o t/f2").0.fails(2, &["is in the list"]);
    for args in ["-o x --html ./x", "-o x --html t/../x"] {
        let said = case.run(&format!("verify p.b3 t {args}"));
        said.0.fails(2, &["would be written twice"]);
    }
    let after: Vec<_> = names.iter().map(|it| case.folder.read(it)).collect();
    assert_eq!(before, after);
    case.run("verify p.b3 t --html page.html").is_code(0);
    case.run("verify p.b3 t --html page.html").0.fails(2, &["page.html: exists and is not empty"]);
    case.run("verify p.b3 t --html page.html --force").is_code(0);
    // A file that a run makes in the tree is not a part of it.
    case.run("diff p.b3 t -o t/new").is_code(0);
}

#[test]
fn snapshot_spares_files_of_others() {
    let case = Case::new();
    for (output, own) in [("game", "game.tw"), ("notes", "notes"), ("t/f1", "t/f1")] {
        if own != "t/f1" {
            case.folder.write(own, "of the user");
        }
        let before = case.folder.read(own);
        case.run(&format!("snapshot t -o {output}")).0.fails(3, &[own, "would be replaced"]);
        assert_eq!(case.folder.read(own), before);
    }
    case.folder.write("rules", "*.tmp\n");
    case.run("snapshot t --exclude-from rules -o rules").0.fails(2, &["rules: is an input"]);
    case.run("snapshot t -o -").0.fails(2, &["sum -r"]);
    assert!(!case.folder.join("-").exists() && !case.folder.join("-.tw").exists());
}

#[test]
fn leftovers_of_killed_runs_are_nobodys() {
    let case = Case::new();
    fs::rename(case.folder.join("p.b3"), case.folder.join("t/p.b3")).unwrap();
    fs::rename(case.folder.join("p.b3.tw"), case.folder.join("t/p.b3.tw")).unwrap();
    case.folder.write(format!("t/{LEFT}"), "half of a list");
    let said = case.run("verify t/p.b3 t");
    said.0.fails(0, &["1 temporary file of other runs"]);
    let sums = case.run("sum -r t");
    assert!(!sums.0.text().contains(".treewide-"));
    case.run("update t/p.b3 t").is_code(0);
    assert!(!case.folder.join(format!("t/{LEFT}")).exists());
    // A user's file only looks like one.
    let users = [".treewide-Ab12Cd.tmp", ".treewide-0123456789abcdef0123456789abcdef.tmp"];
    for name in users {
        case.folder.write(format!("t/{name}"), "the user's");
        case.run("verify t/p.b3 t").is_code(1).prints(&format!("ADDED    {name}\n"));
        case.run("update t/p.b3 t").is_code(0);
        case.run("sum -r t -o t/.sums").is_code(0);
        assert_eq!(case.folder.read(format!("t/{name}")), "the user's");
        fs::remove_file(case.folder.join("t/.sums")).unwrap();
    }
    // A signature is made after the list.
    case.folder.write("t/p.b3.sig", "signed");
    case.folder.write("t/other.sig", "not one of ours");
    case.run("verify t/p.b3 t").is_code(1).prints("ADDED    other.sig\n");
}

#[test]
fn outputs_are_no_more_readable_than_what_they_are_made_from() {
    let case = Case::new();
    case.folder.write("image", vec![7; 40_000]);
    case.run("outboard create image -o image.obao4").is_code(0);
    let private = fs::Permissions::from_mode(0o600);
    for input in ["p.b3", "p.b3.tw", "image"] {
        fs::set_permissions(case.folder.join(input), private.clone()).unwrap();
    }
    for (command, made) in [
        ("verify p.b3 t -o report --html page", &["report", "page"][..]),
        ("diff p.b3 t -o differs", &["differs"]),
        ("check p.b3 -o checked", &["checked"]),
        ("outboard create image -o new", &["new"]),
        ("outboard slice image --range 0..1K -o part", &["part"]),
    ] {
        case.run(command);
        for name in made {
            let mode = fs::metadata(case.folder.join(name)).unwrap().mode();
            assert_eq!(mode & 0o777, 0o600, "{command}: {name}");
        }
    }
    // One that is there keeps its mode.
    fs::set_permissions(case.folder.join("report"), fs::Permissions::from_mode(0o640)).unwrap();
    case.run("verify p.b3 t -o report --force").is_code(0);
    assert_eq!(fs::metadata(case.folder.join("report")).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn manifest_replaces_no_notes() {
    let case = Case::new();
    case.folder.write("notes", "# of mine\n");
    case.run("snapshot t -o notes").0.fails(3, &["notes: is not a list of digests"]);
}

#[test]
fn file_named_like_standard_input_is_listed_by_its_path() {
    let case = Case::new();
    case.folder.write("t/-", "dash");
    case.run("update p.b3 t").is_code(0);
    assert!(case.folder.read("p.b3").contains("  ./-\n"));
    case.run("verify p.b3 t").is_code(0);
    case.run("verify --quick p.b3 t").is_code(0);
    let check = case.folder.program("env").args(["-C", "t", crate::support::TREEWIDE]);
    check.args(["check", "../p.b3"]).run().fails(0, &["4 OK"]);
}

#[test]
fn quiet_runs_say_why_they_fail() {
    let case = Case::new();
    case.rot("f1");
    for command in ["update -q --full", "scrub -q", "verify -q"] {
        let said = case.run(&format!("{command} p.b3 t"));
        said.is_code(1).prints("ROT      f1");
        assert!(said.0.stderr.contains("1 rot"), "{command}: {:?}", said.0);
    }
    case.run("update -q p.b3 nowhere").0.fails(3, &["nowhere"]);
    if !is_root() {
        fs::set_permissions(case.folder.join("t/f2"), fs::Permissions::from_mode(0o000)).unwrap();
        let said = case.run("snapshot -q t -o q.b3");
        said.is_code(3).prints("UNREADABLE f2");
        assert!(!said.0.stderr.is_empty());
    }
}

#[test]
fn page_and_json_say_what_limited_the_run() {
    let case = Case::new();
    case.folder.write("t/f2", "changed");
    case.run("verify p.b3 t --only f1 --html page.html")
        .0
        .fails(0, &["3 recorded paths not looked at"]);
    let page = case.folder.read("page.html");
    assert!(page.contains("\"skipped\":3,\"quick\":false,\"only\":[\"f1\"],"), "{page}");
    let json = case.run("verify p.b3 t --only f1 --quick --json");
    json.prints("\"quick\":true,\"only\":[\"f1\"],").prints("\"by_metadata\":1,");
}

#[test]
fn files_next_to_a_list_are_no_more_readable_than_it() {
    let case = Case::new();
    let mode = |it: &str| fs::metadata(case.folder.join(it)).unwrap().permissions().mode() & 0o777;
    fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    for of in [0o600, 0o640] {
        fs::set_permissions(case.folder.join("p.b3"), fs::Permissions::from_mode(of)).unwrap();
        case.run("update p.b3 t").is_code(0);
        assert_eq!((mode("p.b3"), mode("p.b3.tw")), (of, of));
    }
}

#[test]
fn rules_mean_what_they_say_or_are_refused() {
    let case = Case::new();
    case.folder.write("rules", "\u{feff}f1\r\n./f2\r\nnothing\r\n");
    let said = case.run("snapshot t --exclude-from rules -o q.b3");
    said.0.fails(0, &["--exclude nothing: nothing has such a name"]);
    assert_eq!(
        case.folder.read("q.b3"),
        sums(&[]) + &format!("{}  d/f3\n", hex("content of d/f3"))
    );
    for (rule, left) in [("d//", 2), ("d//f3", 2), ("./d/", 2), ("d/./f3", 2)] {
        case.run(&format!("snapshot t --exclude {rule} -o {left}.b3 --quiet")).is_code(0);
        assert_eq!(case.folder.read(format!("{left}.b3")).lines().count(), left, "{rule}");
        fs::remove_file(case.folder.join(format!("{left}.b3"))).unwrap();
        fs::remove_file(case.folder.join(format!("{left}.b3.tw"))).unwrap();
    }
    for rule in [".", "..", "./", "//", "../x"] {
        case.run(&format!("snapshot t --exclude {rule} -o r.b3")).is_code(2);
        assert!(!case.folder.join("r.b3").exists());
    }
    // Rules are added to those recorded.
    case.run("update q.b3 t --modes").is_code(0);
    assert_eq!(case.folder.read("q.b3").lines().count(), 1);
    case.run("update q.b3 t --replace-rules").is_code(0);
    assert_eq!(case.folder.read("q.b3").lines().count(), 3);
}

#[test]
fn snapshot_refuses_while_another_one_writes_its_journal() {
    let case = Case::new();
    let journal = case.folder.join("new.b3.part");
    fs::write(&journal, "{\"treewide\":\"journal 2\"").unwrap();
    let held = fs::File::open(&journal).unwrap();
    if held.try_lock().is_err() {
        return skip("journals", "files cannot be locked here");
    }
    let said = case.run("snapshot t -o new.b3");
    said.0.fails(3, &["new.b3.part: another program is writing it"]);
    assert!(!said.0.stderr.contains("resumed"), "{:?}", said.0);
    assert!(journal.exists() && !case.folder.join("new.b3").exists());
}

#[test]
fn manifest_is_made_although_nobody_reads_what_is_said() {
    let case = Case::new();
    for at in 0..2000 {
        case.folder.write(format!("t/new{at}"), "");
    }
    let shell = format!("{} update p.b3 t | head -n 1 > /dev/null", crate::support::TREEWIDE);
    case.folder.program("sh").args(["-c", &shell]).run();
    assert_eq!(case.folder.read("p.b3").lines().count(), 2003);
}

#[test]
fn links_that_lead_nowhere_are_links_also_where_links_are_followed() {
    let case = Case::new();
    std::os::unix::fs::symlink("nowhere", case.folder.join("t/link")).unwrap();
    case.run("snapshot --follow t -o q.b3").is_code(0);
    case.run("verify q.b3 t").is_code(0);
    fs::write(case.folder.join("t/nowhere"), "there").unwrap();
    case.run("verify q.b3 t").is_code(1).prints("REPLACED-TYPE link");
}

#[test]
fn no_output_replaces_a_part_of_a_manifest() {
    let case = Case::new();
    case.folder.write("a.b3", sums(&[]));
    case.folder.write("big", [0; 100_000]);
    case.run("outboard create big").is_code(0);
    case.folder.write("L", format!("{}  t/f1\n", hex("content of f1")));
    for name in ["p.b3", "p.b3.tw"] {
        for command in [
            "check L -o",
            "sum -r t -o",
            "verify a.b3 t --json -o",
            "diff L L --json -o",
            "outboard slice big --range 0..1 -o",
            "outboard create big -o",
        ] {
            println!("{command} {name}");
            case.keeps(2, &format!("{command} {name}"), &["p.b3, which would be lost"]);
        }
    }
}
