//! Makes the trees that `scripts/trees-bench.sh` measures: the same files on every machine.
//!
//! ```text
//! make-tree FOLDER lognormal    50,000 files of log-normal length, 535 MB in all, 200 directories
//! make-tree FOLDER tiny COUNT   COUNT files of 0 to 1024 bytes, 1000 in each directory
//! ```

use std::fs;
use std::path::Path;
use std::process::ExitCode;

const FILES: usize = 50_000;
const FOLDERS: usize = 200;
const TOTAL: f64 = 535e6;
/// The spread of the logarithms: source trees and photo collections are about as uneven.
const SIGMA: f64 = 1.6;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let made = match args[..] {
        [folder, "lognormal"] => lognormal(Path::new(folder)),
        [folder, "tiny", count] => match count.parse() {
            Ok(count) => tiny(Path::new(folder), count),
            Err(error) => Err(std::io::Error::other(format!("{count}: {error}"))),
        },
        _ => {
            eprintln!("usage: make-tree FOLDER lognormal | tiny COUNT");
            return ExitCode::from(2);
        }
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make-tree: {error}");
            ExitCode::FAILURE
        }
    }
}

fn lognormal(folder: &Path) -> std::io::Result<()> {
    let mut random = Random(1);
    let weights: Vec<f64> = (0..FILES).map(|_| (SIGMA * random.normal()).exp()).collect();
    let scale = TOTAL / weights.iter().sum::<f64>();
    for directory in 0..FOLDERS {
        fs::create_dir_all(folder.join(format!("d{directory:03}")))?;
    }
    for (number, weight) in weights.iter().enumerate() {
        let content = random.bytes((weight * scale) as usize);
        let name = format!("d{:03}/f{number:05}", number % FOLDERS);
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}

fn tiny(folder: &Path, count: usize) -> std::io::Result<()> {
    let mut random = Random(2);
    for number in 0..count {
        let directory = folder.join(format!("d{:04}", number / 1000));
        if number % 1000 == 0 {
            fs::create_dir_all(&directory)?;
        }
        let len = random.next() as usize % 1025;
        fs::write(directory.join(format!("f{number:07}")), random.bytes(len))?;
    }
    Ok(())
}

/// xorshift64*: any numbers will do, as long as they are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 8
    }

    /// More than 0, and at most 1.
    fn unit(&mut self) -> f64 {
        (self.next() + 1) as f64 / (1_u64 << 56) as f64
    }

    /// By Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}
