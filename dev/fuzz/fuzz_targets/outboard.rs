//! `outboard::Outboard`: with any bytes as the outboard nothing panics, and what is verified is right; damage of real ones is named
//! where it is.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treewide::Hash;
use treewide::outboard::{Group, Layout, Outboard, ReadAt, FlawKind, create};
use treewide_fuzz::{Input, Mode};

#[derive(Arbitrary, Debug)]
struct Case {
    mode: Mode,
    input: Input,
    group: u8,
    /// Changes of the data, and of the outboard.
    data: Vec<(u32, u8)>,
    pairs: Vec<(u32, u8)>,
    /// Bytes in place of the outboard, and its length.
    any: Option<Vec<u8>>,
    len: Option<u64>,
    range: (u32, u32),
}

fn changed(mut bytes: Vec<u8>, changes: &[(u32, u8)]) -> Vec<u8> {
    if !bytes.is_empty() {
        for (at, change) in changes.iter().take(8) {
            let at = *at as usize % bytes.len();
            bytes[at] ^= change;
        }
    }
    bytes
}

/// What is not reported must be as it was.
fn check(outboard: &Outboard<impl ReadAt>, data: &[u8], real: &[u8], range: std::ops::Range<u64>) {
    let found: Result<Vec<_>, _> = outboard.damage(data, range.clone()).collect();
    let found = found.expect("memory can be read");
    let groups = outboard.layout().groups_of(&range);
    for group in groups {
        let span = outboard.layout().group_range(group);
        if found.iter().any(|it| it.range.start < span.end && span.start < it.range.end) {
            continue;
        }
        let span = span.start as usize..span.end as usize;
        assert_eq!(data.get(span.clone()), real.get(span.clone()), "{span:?} is not damaged");
    }
    let right = found.iter().all(|it| it.kind != FlawKind::Unknown);
    assert_eq!(found.is_empty(), outboard.verify(data, range).is_ok() && right);
}

fuzz_target!(|case: Case| {
    let (mode, input) = (case.mode.mode(), case.input.bytes_to(16));
    let group = Group::new(case.group % 17).expect("a group");
    let (digest, pairs) = create(&input, group, mode);
    assert_eq!(digest, Hash::from_bytes(case.mode.expected(&input)));
    let pairs = changed(case.any.clone().unwrap_or(pairs), &case.pairs);
    let data = changed(input.clone(), &case.data);
    let len = case.len.unwrap_or(input.len() as u64);
    let (one, two) = (u64::from(case.range.0 >> 14), u64::from(case.range.1 >> 14));
    let range = one.min(two)..one.max(two);
    let outboard = Outboard::new(&digest, Layout::new(len, group), mode, &pairs);
    check(&outboard, &data, &input, range);
});
