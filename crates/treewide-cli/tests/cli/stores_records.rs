//! `treewide check` with stores whose manifests and other records are odd, large, absent, or would be replaced.

use crate::stores::samples;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn check_spares_every_file_of_a_store() {
    let Some(folder) = samples() else { return };
    symlink("oci-layout/index.json", folder.join("link")).unwrap();
    fs::rename(folder.join("restic/data"), folder.join("data")).unwrap();
    symlink("../data", folder.join("restic/data")).unwrap();
    folder.write("data/other", "x");
    for (args, output) in [
        ("oci-layout", "oci-layout/index.json"),
        ("oci-layout/", "link"),
        ("-r .", "oci-layout/oci-layout"),
        ("--json hf-cache-2x", "hf-cache-2x/models--org--toy/refs/main"),
        ("hf-local-dir", "hf-local-dir/.cache/huggingface/download/config.json.metadata"),
        ("bagit", "bagit/bag-info.txt"),
        ("restic", "data/other"),
    ] {
        let before = folder.read(output);
        let ended = folder.treewide(&format!("check {args} -o {output}")).run();
        ended.fails(2, &[&format!("{output}: is a file in "), "would replace it"]);
        assert_eq!(folder.read(output), before, "{output}");
    }
    // A new file, and one that is only next to a store.
    for output in ["oci-layout/report", "report", "report"] {
        folder.treewide(&format!("check oci-layout -v -o {output}")).run().fails(0, &["4 objects"]);
        assert_eq!(folder.read(output).lines().count(), 4);
    }
}
