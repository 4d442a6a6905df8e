//! Equal to the bytes of `bao-tree`.

use super::{edges, group};
use crate::common::{Random, Tally, pattern, rounds, sample};
use bao_tree::BlockSize;
use bao_tree::io::outboard::PreOrderMemOutboard;
use treewide::outboard::{self, Group};
use treewide::{Hash, Mode};

/// What bao-tree makes of `data`.
fn theirs(data: &[u8], group: Group, key: Option<&[u8; 32]>) -> (Hash, Vec<u8>) {
    let block = BlockSize::from_chunk_log(group.log2());
    let made = match key {
        None => PreOrderMemOutboard::create(data, block),
        Some(key) => PreOrderMemOutboard::create_keyed(data, block, key),
    };
    (Hash::from_bytes(*made.root.as_bytes()), made.data)
}

#[test]
fn outboards_of_bao_tree_have_the_same_bytes() {
    let mut tally = Tally::new("outboards of bao-tree");
    let key = [7; 32];
    let mut random = Random::new(17);
    let edges = [0, 4, 6]
        .into_iter()
        .flat_map(|log2| edges(group(log2).bytes() as usize, 40).map(move |len| (log2, len)));
    let random_cases: Vec<_> =
        (0..rounds(1500)).map(|_| (random.below(8) as u8, random.length(200_000))).collect();
    for (log2, len) in sample(edges).into_iter().chain(random_cases) {
        let data = pattern(len);
        let ours = outboard::create(&data, group(log2), Mode::PLAIN);
        assert!(ours == theirs(&data, group(log2), None), "{len} {log2}");
        tally.case();
        let ours = outboard::create(&data, group(log2), Mode::keyed(&key));
        assert!(ours == theirs(&data, group(log2), Some(&key)), "{len} {log2}");
    }
}
