//! Treewide under the name `blake3` does what the `blake3` crate does.

#[test]
fn the_logs_are_equal() {
    let ours = treewide_compat::ours("treewide");
    let theirs = treewide_compat::theirs("blake3");
    println!("{} observations compared", ours.len());
    let pairs = ours.iter().zip(&theirs).enumerate();
    let different: Vec<_> = pairs.filter(|(_, (ours, theirs))| ours != theirs).collect();
    assert!(different.is_empty(), "{} differ: {different:#?}", different.len());
    assert_eq!(ours.len(), theirs.len());
}
