//! Numbers of bytes, as people write them.

/// A number of bytes, with a unit that is a power of 1024 or without.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    // The units of `treewide-bench`.
    let unit = &text[digits.len()..];
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return Err(format!("there is no unit '{unit}': use B, KiB, MiB, GiB or TiB")),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a whole number of bytes, KiB, MiB, GiB or TiB".to_string());
    }
    let number = digits.parse().ok().and_then(|number: u64| number.checked_mul(1 << shift));
    number.ok_or_else(|| "more than 2^64 - 1 bytes".to_string())
}
