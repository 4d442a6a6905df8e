//! Numbers of bytes, as people write them: `1000`, `16K`, `1.5M`, `2TB`.

/// Parses a number of bytes. `K` and `KiB` are 1024 and `KB` is 1000, as GNU programs read them, up to `T`. Parts of a byte are left out.
///
/// # Errors
/// If it is not such a number, or more than 2^64 - 1. The text says why.
///
/// ```
/// assert_eq!(treewide_files::size::parse("16K"), Ok(16 << 10));
/// assert_eq!(treewide_files::size::parse("1.5 MB"), Ok(1_500_000));
/// ```
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[number.len()..].trim_start();
    let unit: u128 = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KIB" => 1 << 10,
        "M" | "MIB" => 1 << 20,
        "G" | "GIB" => 1 << 30,
        "T" | "TIB" => 1 << 40,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(format!("there is no unit '{unit}': use K, M, G or T")),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 18 {
        return Err("not a number of bytes, such as 1000, 16K, 1.5M or 2TB".to_string());
    }
    let parsed = |it: &str| it.parse::<u64>().ok().map(u128::from);
    let bytes = parsed(whole)
        .zip(parsed(part))
        .map(|(whole, digits)| whole * unit + digits * unit / 10_u128.pow(part.len() as u32));
    let bytes = bytes.and_then(|it| it.try_into().ok());
    bytes.ok_or_else(|| "more than 2^64 - 1 bytes".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_takes_numbers_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("7B", 7),
            ("16K", 16 << 10),
            ("64KiB", 64 << 10),
            ("64 KiB", 64 << 10),
            ("2g", 2 << 30),
            ("1TiB", 1 << 40),
            ("1KB", 1000),
            ("2TB", 2_000_000_000_000),
            ("1.5M", 3 << 19),
            ("0.3 GiB", 322_122_547),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        assert!(parse("3Q").unwrap_err().contains("no unit 'Q'"));
        for wrong in
            ["", "K", "-1", "+5", "1.", ".5M", "1.5.5", "1,5M", "0x10", "1_000", "99999999T", "1e3"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
