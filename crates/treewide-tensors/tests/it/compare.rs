//! Comparisons of two models, and the rows that differ.

use crate::files::{safetensors, write};
use treewide_tensors::{Model, TensorDigest, Tensors, Values, compare, difference, list, strip};

fn model(tensors: &[(&str, &str, &[u64], u8)]) -> Tensors {
    let tensor = |&(name, dtype, shape, byte): &(&str, &str, &[u64], u8)| {
        let digest = [byte; 32];
        (name.to_owned(), TensorDigest { dtype: dtype.to_owned(), shape: shape.to_vec(), digest })
    };
    tensors.iter().map(tensor).collect()
}

#[test]
fn compare_finds_what_became_of_each_tensor() {
    let old = model(&[
        ("a.b", "F32", &[3], 1),
        ("changed", "BF16", &[64, 96], 2),
        ("empty", "F32", &[0, 7], 3),
        ("gone", "BOOL", &[3], 4),
        ("norm.2", "BF16", &[96], 5),
        ("ones.1", "F32", &[2], 6),
        ("ones.2", "F32", &[2], 6),
        ("scalar", "F32", &[], 7),
    ]);
    let new = model(&[
        ("a.b", "F32", &[3], 1),
        ("changed", "BF16", &[64, 96], 12),
        ("empty", "F32", &[7, 0], 3),
        ("lora", "F32", &[3, 3], 14),
        ("norm.9", "BF16", &[96], 5),
        ("ones.1", "F32", &[2], 6),
        ("ones.3", "F32", &[2], 6),
        ("scalar", "F64", &[], 17),
        ("tied", "F32", &[3], 1),
    ]);
    let found = compare(&old, &new);
    let lines: Vec<_> = found
        .findings
        .iter()
        .map(|it| format!("{} {} {}", it.verdict.word(), it.name, it.detail(list::escape)))
        .collect();
    assert_eq!(
        lines,
        [
            "changed changed BF16[64,96]",
            "reshaped empty F32[0,7] -> F32[7,0], the same bytes",
            "removed gone BOOL[3]",
            "added lora F32[3,3]",
            "moved norm.2 -> norm.9",
            "removed ones.2 F32[2], the bytes of ones.1",
            "added ones.3 F32[2], the bytes of ones.1",
            "retyped scalar F32[] -> F64[]",
            "added tied F32[3], the bytes of a.b",
        ]
    );
    let counts = [2, 0, 1, 1, 1, 1, 3, 2, 0];
    assert_eq!(found.counts().iter().map(|it| it.1).collect::<Vec<_>>(), counts);
    assert!(found.prefixes.is_empty());
    let same = compare(&old, &old);
    assert!(same.is_same() && same.counts()[..2] == [("same", 7), ("empty", 1)]);
}

#[test]
fn compare_finds_the_parts_that_one_has_more() {
    let names = |names: &[&str]| -> Tensors {
        names.iter().map(|&it| (it.to_owned(), model(&[("", "U8", &[1], 1)])[""].clone())).collect()
    };
    for (short, long, expected) in [
        (
            &["layers.0.q", "norm"][..],
            &["model.layers.0.q", "model.norm", "lm_head"][..],
            &["model."][..],
        ),
        (&["w"], &["module._orig_mod.w"], &["module.", "_orig_mod."]),
        (&["b", "y.z"], &["_orig_mod.b", "_orig_mod.y._orig_mod.z"], &["_orig_mod."]),
        (&["model.w"], &["base_model.model.model.w"], &["base_model.", "model."]),
        (&["embed", "layers.0.q"], &["embed", "layers.0._orig_mod.q"], &["_orig_mod."]),
        (&["b", "w"], &["x.w"], &[]),
        (&["w"], &["w", "x.w"], &[]),
        (&["w"], &["a.w", "b.w"], &["a."]),
    ] {
        let (short, long) = (names(short), names(long));
        for (old, new, is_new) in [(&short, &long, true), (&long, &short, false)] {
            let found = compare(old, new);
            assert_eq!(found.prefixes, expected, "{short:?} {long:?}");
            assert!(expected.is_empty() || found.new_has_prefixes == is_new);
        }
    }
}

#[test]
fn compare_takes_names_of_tied_weights_for_aliases() {
    let side = |tensors: &[(&str, u8)], tied: &[(&str, &str)]| -> Tensors {
        let mut found = model(
            &tensors.iter().map(|&(name, it)| (name, "U8", &[1][..], it)).collect::<Vec<_>>(),
        );
        found.aliases = tied.iter().map(|&(name, of)| (name.to_owned(), of.to_owned())).collect();
        found
    };
    let tied = side(&[("embed", 1), ("x", 2)], &[("head", "embed")]);
    let plain = side(&[("embed", 1), ("x", 2)], &[]);
    let both = side(&[("embed", 1), ("head", 1), ("x", 2)], &[]);
    let other = side(&[("embed", 1), ("head", 3), ("x", 2)], &[]);
    let second = side(&[("head", 1), ("x", 2)], &[]);
    let moved = side(&[("z", 1), ("x", 2)], &[("head", "z")]);
    let shifted = side(&[("embed", 1), ("x", 2)], &[("head", "x")]);
    for (old, new, words) in [
        (&tied, &plain, "alias head U8[1], another name of embed"),
        (&tied, &both, ""),
        (&tied, &tied, ""),
        (&tied, &other, "changed head U8[1]"),
        (&tied, &second, "alias embed U8[1], another name of head"),
        (
            &tied,
            &moved,
            "alias embed U8[1], another name of head; alias z U8[1], another name of head",
        ),
        (&tied, &shifted, "changed head U8[1]"),
        (&plain, &both, "added head U8[1], the bytes of embed"),
    ] {
        let found = compare(old, new);
        let lines = found.findings.iter();
        let lines: Vec<_> = lines
            .map(|it| format!("{} {} {}", it.verdict.word(), it.name, it.detail(list::escape)))
            .collect();
        assert_eq!(lines.join("; "), words);
        let differs = words.contains("changed") || words.contains("added");
        assert_eq!((found.is_same(), compare(new, old).is_same()), (!differs, !differs));
        assert_eq!(list::text(&tied), list::text(&plain));
    }
}

#[test]
fn strip_leaves_out_a_prefix_of_parts() {
    for (name, prefix, expected) in [
        ("_orig_mod.a.b", "_orig_mod.", "a.b"),
        ("layers.0._orig_mod.q", "_orig_mod.", "layers.0.q"),
        ("my_orig_mod.q", "_orig_mod.", "my_orig_mod.q"),
        ("module.module.q", "module.", "q"),
        ("model.language.q", "model.language.", "q"),
        ("q.module", "module.", "q.module"),
    ] {
        assert_eq!(strip(name, prefix), expected);
    }
}

#[test]
fn rows_are_those_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    // Rows of 3,000 bytes lie across tiles.
    let data = vec![1; 3000 * 1000];
    let mut other = data.clone();
    let changed = [0, 1, 174, 175, 500, 999];
    for row in changed {
        other[row * 3000 + row] = 2;
    }
    for row in (600..900).step_by(2) {
        other[row * 3000] = 2;
    }
    let file = |name, data: &[u8]| {
        let scalar: &[u8] = &data[..4];
        let bytes = safetensors(&[("m", "U8", &[1000, 3000], data), ("s", "F32", &[], scalar)]);
        Model::open(write(folder.path(), name, bytes)).unwrap()
    };
    let (old, new) = (file("old", &data), file("new", &other));
    let (is, now): (Vec<_>, Vec<_>) = (old.places().collect(), new.places().collect());
    let found = difference(is[0], now[0]).unwrap().unwrap().rows;
    assert_eq!((found.all, found.different), (1000, 156));
    assert_eq!(found.first[..5], [0..2, 174..176, 500..501, 600..601, 602..603]);
    assert_eq!(found.first.len() as u64 + found.more, 154);
    let scalar = difference(is[1], now[1]).unwrap().unwrap().rows;
    assert_eq!((scalar.all, scalar.different), (1, 1));
    assert_eq!(difference(is[0], now[1]).unwrap(), None);
}

/// Type and bytes of two tensors, and how many values are equal, the largest difference, and its norm.
type Case<'a> = (&'a str, &'a [u8], &'a str, &'a [u8], Option<(u64, f64, f64)>);

#[test]
fn values_differ_by_so_much() {
    let folder = tempfile::tempdir().unwrap();
    // The same numbers in each type: 1, -2, 0.5, NaN, infinity, and the smallest of the type where it has another exponent.
    let floats = |it: &[f32]| it.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let doubles = |it: &[f64]| it.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let some = [1.0, -2.0, 0.5, f32::NAN, f32::INFINITY];
    let f32s = floats(&some);
    let bf16: Vec<u8> = f32s.chunks(4).flat_map(|it| it[2..].to_vec()).collect();
    let f16 = [0x3c00_u16, 0xc000, 0x3800, 0x7e01, 0x7c00];
    let f16: Vec<u8> = f16.iter().flat_map(|it| it.to_le_bytes()).collect();
    let e5m2: Vec<u8> = f16.chunks(2).map(|it| it[1]).collect();
    let finite = floats(&[1.0, -2.0, 0.5, f32::NAN, 2.0_f32.powi(-9)]);
    let small = floats(&[2.0_f32.powi(-24), -65504.0, 2.0_f32.powi(-15), 0.0, -0.0]);
    let smalls: Vec<u8> =
        [1_u16, 0xfbff, 0x200, 0x8000, 0].iter().flat_map(|it| it.to_le_bytes()).collect();
    let ints = floats(&[1.0, -2.0, 127.0, 0.0, -128.0]);
    let far = |times: f64, more: f64| doubles(&[3.0, 4.0, more, 0.0, 0.0].map(|it| it * times));
    // Their squares are more, and less, than `f64` has.
    let (large, tiny) = (2_f64.powi(1000), 2_f64.powi(-1000));
    let cases: [Case<'_>; 15] = [
        ("F32", &f32s, "BF16", &bf16, Some((5, 0.0, 0.0))),
        ("F32", &f32s, "F16", &f16, Some((5, 0.0, 0.0))),
        ("F8_E5M2", &e5m2, "F32", &f32s, Some((5, 0.0, 0.0))),
        ("F32", &small, "F16", &smalls, Some((5, 0.0, 0.0))),
        ("F8_E4M3", &[0x38, 0xc0, 0x30, 0xff, 1], "F32", &finite, Some((5, 0.0, 0.0))),
        ("I8", &[1, 254, 127, 0, 128], "F32", &ints, Some((5, 0.0, 0.0))),
        (
            "F32",
            &floats(&[3.0, 4.0, 0.0, 0.0, 0.0]),
            "F64",
            &doubles(&[3.0, 4.0, 0.5, 0.0, 0.0]),
            Some((4, 0.5, 0.1)),
        ),
        ("F64", &far(large, 0.0), "F64", &far(large, 0.5), Some((4, large / 2.0, 0.1))),
        ("F64", &far(tiny, 0.0), "F64", &far(tiny, 0.5), Some((4, tiny / 2.0, 0.1))),
        ("U8", &[0; 5], "I16", &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0], Some((4, 1.0, f64::INFINITY))),
        ("F32", &f32s, "F32", &finite, Some((4, f64::INFINITY, f64::INFINITY))),
        ("F32", &floats(&[f32::NAN; 5]), "F32", &ints, Some((0, f64::INFINITY, f64::INFINITY))),
        ("LATER", &[1; 5], "LATER", &[1, 2, 1, 1, 1], None),
        ("I64", &[0; 40], "I64", &[1; 40], None),
        ("U32", &[0; 20], "U32", &[255; 20], Some((0, f64::from(u32::MAX), f64::INFINITY))),
    ];
    for (was, old, is, new, expected) in cases {
        let file = |name, dtype, data| {
            let bytes = safetensors(&[("w", dtype, &[5], data)]);
            Model::open(write(folder.path(), name, bytes)).unwrap()
        };
        let (old, new) = (file("old", was, old), file("new", is, new));
        let found = difference(old.places().next().unwrap(), new.places().next().unwrap());
        let found = found.unwrap().unwrap();
        let values = expected.map(|(equal, largest, norm)| Values { all: 5, equal, largest, norm });
        assert_eq!(found.values, values, "{was} {is}");
        if let Some((equal, ..)) = expected {
            assert_eq!((found.rows.all, found.rows.different), (5, 5 - equal), "{was} {is}");
            assert_eq!(found.to_string() == "the same values", equal == 5);
        }
    }
}
