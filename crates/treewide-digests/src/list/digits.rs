//! Digests as text: hexadecimal, or base64 where the algorithm is known.

use crate::algorithm::Algorithm;
use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use treewide_files::digest::unhex;

const ANY: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// The name of the algorithm in `sha256:HEX` and `sha512-BASE64`, and the digits. No name if there is none.
pub(crate) fn tag(word: &[u8]) -> (&[u8], &[u8]) {
    match word.iter().rposition(|it| matches!(it, b':' | b'-')) {
        Some(at) if word[at] == b':' || Algorithm::tagged(&word[..at]).is_some() => {
            (&word[..at], &word[at + 1..])
        }
        _ => (b"", word),
    }
}

/// The digest: hexadecimal, or base64 of as many bytes as digests of the algorithm have.
pub(crate) fn decode(digits: &[u8], algorithm: Option<Algorithm>) -> Option<Vec<u8>> {
    unhex(digits).filter(|it| !it.is_empty()).or_else(|| base64(digits, algorithm?))
}

pub(crate) fn base64(digits: &[u8], algorithm: Algorithm) -> Option<Vec<u8>> {
    // Digits of another kind, with some missing, look like this.
    if digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let decode = |alphabet| GeneralPurpose::new(alphabet, ANY).decode(digits).ok();
    let bytes = decode(&STANDARD).or_else(|| decode(&URL_SAFE))?;
    (bytes.len() == algorithm.digest_len()).then_some(bytes)
}
