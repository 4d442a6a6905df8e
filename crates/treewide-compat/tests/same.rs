//! Treewide under the name `blake3` does what the `blake3` crate does.

#[test]
fn the_logs_are_equal() {
    let ours = treewide_compat::ours("treewide");
    let theirs = treewide_compat::theirs("blake3");
    println!("{} observations compared", ours.len());
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "observation {number}");
    }
    assert_eq!(ours.len(), theirs.len());
}
