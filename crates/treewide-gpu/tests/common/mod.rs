//! Shared by the test files: the devices there are, inputs, lengths and modes.
#![allow(dead_code)] // Each test file that includes this module uses a part of it.

#[cfg(feature = "cuda")]
pub(crate) mod cuda_on_cpu;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use treewide_gpu::{Backend, Device, Mode, TwinLimits};

/// The variable that names the backend without which tests fail; with `twin` no other is tested.
const WANTED: &str = "TREEWIDE_TEST_BACKEND";

/// A device, and its name with that of its backend.
pub(crate) struct Tested {
    pub(crate) device: Device,
    pub(crate) name: String,
}

/// The twins of the kernels, with the limits of a large GPU and with such that nothing fits at once,
/// and all devices of this machine. One test at a time has them: some drivers are programs for the
/// CPU, and need all of it.
pub(crate) fn each(mut test: impl FnMut(&Device)) {
    static DEVICES: OnceLock<Vec<Tested>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let _turn: MutexGuard<'_, ()> = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for Tested { device, name } in DEVICES.get_or_init(find) {
        println!("on {name}");
        test(device);
    }
}

fn find() -> Vec<Tested> {
    let small = TwinLimits {
        most_bytes: 4 << 20,
        window: 300_000,
        alignment: 256,
        most_tiles: 3,
        one_launch: u64::MAX,
    };
    let window = 131_072 + 255;
    let tight = TwinLimits { window, alignment: 256, one_launch: 0, ..TwinLimits::default() };
    let twin = |name: &str, limits| Tested { device: Device::twin(limits), name: name.into() };
    let mut devices = vec![
        twin("twin", TwinLimits::default()),
        twin("twin with small limits", small),
        twin("twin with tight windows", tight),
    ];
    if std::env::var(WANTED).is_ok_and(|wanted| wanted == "twin") {
        return devices;
    }
    #[cfg(feature = "cuda")]
    let on_cpu = match cuda_on_cpu::load() {
        Ok(_) => true,
        Err(cause) => {
            println!("SKIPPED: CUDA kernels on the CPU: {cause}");
            false
        }
    };
    #[cfg(not(feature = "cuda"))]
    let on_cpu = false;
    let known = treewide_gpu::devices();
    for found in &known {
        let name = format!("{}: {}", found.backend, found.name);
        match found.open() {
            // The other one of these takes one launch for a whole tree, as far as is usual.
            Ok(device) if on_cpu && found.backend == Backend::Cuda && found.index == 0 => {
                devices.push(Tested { device: device.one_launch_up_to(0), name });
            }
            Ok(device) => devices.push(Tested { device, name }),
            Err(error) => println!("SKIPPED: {name}: {error}"),
        }
    }
    // A backend that is named must be tested.
    if let Ok(forced) = std::env::var(WANTED) {
        let has = |tested: &Tested| tested.device.backend().to_string() == forced;
        assert!(devices.iter().any(has), "no {forced} device: {known:?}");
    }
    if known.is_empty() {
        println!("SKIPPED: devices of this machine, as neither cuda nor wgpu is built");
    }
    devices
}

/// Bytes in which no two blocks, chunks or lanes are equal.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    let mut random = Random(len as u64 ^ 0x7265_6577_6964_6521);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(random.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Numbers from a fixed seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

pub(crate) const KEY: &[u8; 32] = b"whats the Elvish word for friend";
pub(crate) const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// The three modes.
pub(crate) fn modes() -> [Mode; 3] {
    [Mode::PLAIN, Mode::keyed(KEY), Mode::derive_key(CONTEXT)]
}

/// The oracle in a mode of [`modes`].
pub(crate) fn oracle(mode: usize, input: &[u8]) -> blake3::Hasher {
    let mut hasher = match mode {
        0 => blake3::Hasher::new(),
        1 => blake3::Hasher::new_keyed(KEY),
        _ => blake3::Hasher::new_derive_key(CONTEXT),
    };
    hasher.update(input);
    hasher
}

/// Lengths around the edges of blocks, chunks, tiles, and the levels above them.
pub(crate) fn edge_lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 2, 3, 4, 5, 31, 32, 63, 64, 65, 127, 128, 129, 959, 960, 961];
    for chunks in [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 100, 127] {
        lengths.extend([1024 * chunks - 1, 1024 * chunks, 1024 * chunks + 1]);
    }
    for tiles in [1, 2, 3, 4, 5, 8] {
        lengths.extend([131_072 * tiles - 1, 131_072 * tiles, 131_072 * tiles + 1]);
        lengths.push(131_072 * tiles + 1025);
    }
    lengths
}
