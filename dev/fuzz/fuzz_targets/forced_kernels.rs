//! Every kernel on the same input and output, switched in the middle too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treewide::kernel;
use treewide_fuzz::{Input, Mode, kernels};

fuzz_target!(|case: (Mode, Input, u8, u16, u64)| {
    let (mode, input, align, output_len, position) = case;
    let align = usize::from(align % 64);
    let mut bytes = vec![0; align];
    bytes.extend(input.bytes_to(17));
    let input = &bytes[align..];
    let position = position >> 2;
    let oracle = mode.oracle().update(input).clone();
    let digest = *oracle.finalize().as_bytes();
    let mut expected = vec![0; usize::from(output_len)];
    let mut reader = oracle.finalize_xof();
    reader.set_position(position);
    reader.fill(&mut expected);

    let middle = position as usize % (input.len() + 1);
    let mut switching = mode.hasher();
    for (i, name) in kernels().into_iter().enumerate() {
        assert_eq!(kernel::force(name).unwrap().name(), name);
        assert_eq!(mode.one_shot(input), digest, "{name}");
        let mut hasher = mode.hasher();
        hasher.update(&input[..middle]).update(&input[middle..]);
        assert_eq!(hasher.finalize(), digest, "{name}");
        let mut output = vec![0; expected.len()];
        let mut reader = hasher.finalize_xof();
        reader.set_position(position);
        reader.fill(&mut output);
        assert!(output == expected, "{name}: output");
        // A quarter of the input by each kernel, as long as there is some.
        let quarter = input.len() / 4;
        let from = (i * quarter).min(input.len());
        switching.update(&input[from..(from + quarter).min(input.len())]);
    }
    let done = switching.count() as usize;
    switching.update(&input[done..]);
    assert_eq!(switching.finalize(), digest);
});
