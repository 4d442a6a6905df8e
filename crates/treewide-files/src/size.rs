//! Numbers of bytes, as people write them: `1000`, `16K`, `1M`, `2G`.

/// Parses a number of bytes, with a unit that is a power of 1024 or without: `K`, `M`, `G` and `T`, also as `KiB`.
///
/// # Errors
/// If it is not such a number, or more than 2^64 - 1. The text says why.
///
/// ```
/// assert_eq!(treewide_files::size::parse("16K"), Ok(16 << 10));
/// ```
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[digits.len()..].trim_start();
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return Err(format!("there is no unit '{unit}': use K, M, G or T")),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a whole number of bytes, such as 1000, 16K, 1M or 2G".to_string());
    }
    let number = digits.parse().ok().and_then(|number: u64| number.checked_mul(1 << shift));
    number.ok_or_else(|| "more than 2^64 - 1 bytes".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_takes_units_of_1024_and_whole_numbers_only() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("7B", 7),
            ("16K", 16 << 10),
            ("64KiB", 64 << 10),
            ("64 KiB", 64 << 10),
            ("2g", 2 << 30),
            ("1TiB", 1 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        assert!(parse("3Q").unwrap_err().contains("no unit 'Q'"));
        for wrong in ["", "K", "1KB", "-1", "+5", "1.5M", "0x10", "1_000", "99999999T", "1e3"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
