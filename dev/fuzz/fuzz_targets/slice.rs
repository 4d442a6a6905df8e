//! `outboard::slice`: arbitrary bytes and changed slices never panic, and never hand out a byte that
//! is not the input's; what is sent comes back.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::ops::Range;
use treewide::Hash;
use treewide::outboard::slice::{Source, decode, encode};
use treewide::outboard::{Group, Layout};
use treewide_fuzz::{Input, Mode};

#[derive(Arbitrary, Debug)]
struct Case {
    mode: Mode,
    input: Input,
    group: u8,
    ranges: Vec<(u64, u64)>,
    /// Another length than the right one.
    len: Option<u64>,
    bytes: Bytes,
}

#[derive(Arbitrary, Debug)]
enum Bytes {
    Any(Vec<u8>),
    Changed(Vec<(u16, u8)>),
    Right,
}

impl Bytes {
    /// What arrives of `sent`.
    fn of(&self, mut sent: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Any(bytes) => return bytes.clone(),
            Self::Changed(_) if sent.is_empty() => {}
            Self::Changed(changes) => {
                for (at, change) in changes {
                    let at = usize::from(*at) % sent.len();
                    sent[at] ^= change;
                }
            }
            Self::Right => {}
        }
        sent
    }
}

fuzz_target!(|case: Case| {
    let (mode, input) = (case.mode.mode(), case.input.bytes_to(16));
    let total = input.len() as u64;
    let group = Group::new(case.group % 17).expect("a group");
    let root = Hash::from_bytes(case.mode.one_shot(&input));
    let layout = Layout::new(total, Group::MOST);
    let source = Source { data: &input[..], layout, outboard: &[][..], root, mode };
    let ranges: Vec<Range<u64>> =
        case.ranges.iter().take(16).map(|(one, two)| *one..*two).collect();
    let check = |place: u64, bytes: &[u8]| {
        let place = usize::try_from(place).expect("a place of the input");
        assert_eq!(input.get(place..place + bytes.len()), Some(bytes), "not the input's");
        Ok(())
    };

    let mut sent = Vec::new();
    encode(&source, group, &ranges, &mut sent).expect("nothing is wrong");
    let arrived = case.bytes.of(sent.clone());
    let len = case.len.unwrap_or(total);
    match decode(&root, len, group, &ranges, mode, &arrived[..], check) {
        Ok(decoded) => {
            assert!(!decoded.len_is_proven || len == total, "a length that is not right")
        }
        Err(error) => assert!(len != total || !arrived.starts_with(&sent), "{error}"),
    }
});
