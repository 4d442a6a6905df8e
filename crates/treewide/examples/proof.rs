//! Proves to a reader who has only a root and a number that a record is in a list, at its place.
//!
//! ```text
//! cargo run --release -p treewide --example proof
//! ```

use treewide::merkle::{Proof, Tree};
use treewide::{Hash, hash, hash_many};

fn main() {
    // The server has all records, and publishes the root and the number of them.
    let records: Vec<String> = (0..100_000).map(|number| format!("record {number}")).collect();
    let leaves = hash_many(&records);
    let tree = Tree::new(&leaves);
    let (root, count) = (tree.root(), records.len() as u64);

    // The client asks for record 70,000, and gets it with a proof of 17 nodes or fewer.
    let wanted = 70_000;
    let proof = tree.proof(wanted).expect("there is such a record");
    assert!(is_genuine(&records[wanted], wanted as u64, &proof, &root, count));
    println!("record {wanted} of {count} by {} nodes", proof.siblings.len());

    // Another record does not pass, even with a proof that is right for it.
    let other = tree.proof(5).expect("there is such a record");
    assert!(!is_genuine(&records[5], wanted as u64, &other, &root, count));
}

/// `index`, `root` and `count` are the client's own; `record` and `proof` came from the server.
fn is_genuine(record: &str, index: u64, proof: &Proof, root: &Hash, count: u64) -> bool {
    proof.verify(&hash(record.as_bytes()), index, root, count)
}

#[test]
fn runs() {
    main();
}
