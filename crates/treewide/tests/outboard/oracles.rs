//! Equal to the bytes of `bao-tree` and `bao`.

use super::{ORDERS, edges, group};
use crate::common::{Random, Tally, pattern, rounds, sample};
use bao_tree::BlockSize;
use bao_tree::io::outboard::{PostOrderMemOutboard, PreOrderMemOutboard};
use treewide::outboard::{self, BaoFile, Group, Layout, Order};
use treewide::{Hash, Mode};

/// What bao-tree makes of `data`.
fn theirs(data: &[u8], group: Group, order: Order, key: Option<&[u8; 32]>) -> (Hash, Vec<u8>) {
    let block = BlockSize::from_chunk_log(group.log2());
    let (root, bytes) = match (order, key) {
        (Order::Pre, None) => {
            let made = PreOrderMemOutboard::create(data, block);
            (made.root, made.data)
        }
        (Order::Pre, Some(key)) => {
            let made = PreOrderMemOutboard::create_keyed(data, block, key);
            (made.root, made.data)
        }
        (Order::Post, None) => {
            let made = PostOrderMemOutboard::create(data, block);
            (made.root, made.data)
        }
        (Order::Post, Some(key)) => {
            let made = PostOrderMemOutboard::create_keyed(data, block, key);
            (made.root, made.data)
        }
    };
    (Hash::from_bytes(*root.as_bytes()), bytes)
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
        for order in ORDERS {
            let ours = outboard::create(&data, group(log2), order, Mode::PLAIN);
            assert!(ours == theirs(&data, group(log2), order, None), "{len} {log2} {order}");
            tally.case();
        }
        let ours = outboard::create(&data, group(log2), Order::Pre, Mode::keyed(&key));
        assert!(ours == theirs(&data, group(log2), Order::Pre, Some(&key)), "{len} {log2}");
    }
}

#[test]
fn outboard_files_of_bao_have_the_same_bytes() {
    let mut tally = Tally::new("outboard files of bao");
    for len in sample(edges(1024, 70)) {
        let data = pattern(len);
        let (theirs, root) = bao::encode::outboard(&data);
        let mut ours = Vec::new();
        let (layout, mut pairs) = BaoFile::create(&mut ours, len as u64).expect("written");
        let digest = outboard::create_at(&data, &layout, Mode::PLAIN, &mut pairs).expect("made");
        assert!(ours == theirs && digest == *root.as_bytes(), "{len}");
        let (layout, _) = BaoFile::open(&theirs).expect("read");
        assert_eq!(layout, Layout::new(len as u64, Group::BAO, Order::Pre));
        tally.case();
    }
}
