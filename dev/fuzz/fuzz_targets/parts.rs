//! `parts`: arbitrary bytes never panic, also with a check that is right; what is accepted can be gone on with;
//! any cuts in any order give the digest.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treewide::parts::{Part, Parts, PartsError, subtrees};
use treewide_fuzz::{Input, Mode};

#[derive(Arbitrary, Debug)]
enum Case {
    Bytes(Vec<u8>),
    /// Real parts with some bytes changed, with their old check or a right one.
    Changed {
        input: Input,
        cuts: Vec<(u16, u16)>,
        changes: Vec<(u16, u8)>,
        right: bool,
    },
    /// Nodes of an input of any length, with values of a few kinds.
    Nodes {
        total: u64,
        nodes: Vec<(u64, u8, u8)>,
    },
    Whole {
        mode: Mode,
        input: Input,
        cuts: Vec<(u16, u16)>,
    },
}

const PLAIN: treewide::Mode = treewide::Mode::PLAIN;

/// The cuts as ranges of chunks, and then the whole.
fn ranges(len: usize, cuts: &[(u16, u16)]) -> Vec<std::ops::Range<usize>> {
    let place = |cut: u16| {
        let chunk = usize::from(cut) % (len / 1024 + 2);
        (chunk * 1024).min(len)
    };
    let ranges = cuts.iter().take(64).map(|(one, two)| {
        let (one, two) = (place(*one), place(*two));
        one.min(two)..one.max(two)
    });
    ranges.chain([0..len]).collect()
}

/// If it is accepted, it has one form, and everything works.
fn try_parts(bytes: &[u8]) {
    let Ok(mut parts) = Parts::from_bytes(bytes, PLAIN) else { return };
    assert_eq!(parts.to_bytes(), bytes, "parts have one form");
    go_on(&mut parts);
    let mut all = Parts::new(parts.total(), PLAIN).of_object(&parts.object().to_vec());
    all.absorb(&parts).expect("nothing is there that it could clash with");
    assert_eq!(all.to_bytes(), parts.to_bytes());
}

fn go_on(parts: &mut Parts) {
    let missing = parts.missing();
    assert_eq!(parts.finish().is_ok(), missing.is_empty());
    let known: u64 = parts.iter().map(|part| part.range.end - part.range.start).sum();
    let gaps: u64 = missing.iter().map(|gap| gap.end - gap.start).sum();
    assert_eq!(known + gaps, parts.total());
    let digest = parts.finish().ok();
    let copy = parts.clone();
    parts.compact();
    assert_eq!(parts.finish().ok(), digest);
    assert_eq!(parts.missing(), missing);
    // The merged parts agree with those from which they were merged; more than that may wait now.
    let mut again = parts.clone();
    again.absorb(&copy).expect("the same values");
    if let Some(gap) = missing.first() {
        let node = subtrees(gap.clone(), parts.total()).expect("chunks").next().expect("a gap");
        again.push(Part { range: node, cv: [9; 32] }).expect("it was missing");
    }
    again.forget(known / 2..known);
    let _ = (again.missing(), again.unchecked(), again.to_bytes());
}

fuzz_target!(|case: Case| {
    match case {
        Case::Bytes(bytes) => {
            let _ = Parts::from_bytes(&bytes, PLAIN);
            let mut bytes = [b"tw-parts\x01".to_vec(), bytes].concat();
            try_parts(&bytes);
            let check = treewide::hash(&bytes);
            bytes.extend(check.as_bytes());
            try_parts(&bytes);
        }
        Case::Changed { input, cuts, changes, right } => {
            let input = input.bytes();
            let mut parts = Parts::new(input.len() as u64, PLAIN);
            for range in ranges(input.len(), &cuts) {
                parts.hash(&input[range.clone()], range.start as u64).expect("the same bytes");
            }
            let real = parts.to_bytes();
            let mut bytes = real.clone();
            for (at, change) in changes {
                let at = usize::from(at) % bytes.len();
                bytes[at] ^= change;
            }
            if right {
                let body = bytes.len() - 32;
                let check = treewide::hash(&bytes[..body]);
                bytes[body..].copy_from_slice(check.as_bytes());
            } else if bytes != real {
                assert!(Parts::from_bytes(&bytes, PLAIN).is_err(), "damage that is not seen");
            }
            try_parts(&bytes);
        }
        Case::Nodes { total, nodes } => {
            let mut parts = Parts::new(total, PLAIN);
            for (place, pick, cv) in nodes.into_iter().take(64) {
                let start = place % total.max(1) / 1024 * 1024;
                let all: Vec<_> = subtrees(start..total, total).expect("chunks").collect();
                if all.is_empty() {
                    break;
                }
                let range = all[usize::from(pick) % all.len()].clone();
                let before = parts.to_bytes();
                if parts.push(Part { range, cv: [cv % 2; 32] }).is_err() {
                    assert_eq!(parts.to_bytes(), before, "a part that is refused changes nothing");
                }
            }
            try_parts(&parts.to_bytes());
            go_on(&mut parts);
        }
        Case::Whole { mode, input, cuts } => {
            let (ours, input) = (mode.mode(), input.bytes());
            let mut whole = Parts::new(input.len() as u64, ours);
            for range in ranges(input.len(), &cuts) {
                let mut parts = Parts::new(input.len() as u64, ours);
                parts.hash(&input[range.clone()], range.start as u64).expect("chunks");
                let parts = Parts::from_bytes(&parts.to_bytes(), ours).expect("what was sent");
                whole.absorb(&parts).expect("the same bytes");
            }
            assert_eq!(*whole.finish().expect("all of it").as_bytes(), mode.expected(&input));
            let other = treewide::Mode::keyed(&[1; 32]);
            assert_eq!(Parts::from_bytes(&whole.to_bytes(), other).err(), Some(PartsError::Mode));
        }
    }
});
