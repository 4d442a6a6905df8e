//! Sizes in bytes, as people write them: `1000`, `64KiB`, `3MiB`, and ranges with a step,
//! `0..64KiB/61`, or a factor, `1KiB..1GiB*2`.

/// Parses a number with an optional unit.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits]
        .parse()
        .map_err(|_| format!("'{text}' is not a size; write 1000, 64KiB or 3MiB"))?;
    // The units of `treewide explain`.
    let shift = match text[digits..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => {
            let unit = text[digits..].trim();
            return Err(format!("there is no unit '{unit}': use B, KiB, MiB, GiB or TiB"));
        }
    };
    number.checked_shl(shift).filter(|n| n >> shift == number).ok_or(format!("{text} is too large"))
}

/// The most sizes. Nobody reads longer tables, and their inputs fill the memory.
const MOST_SIZES: u64 = 100_000;

/// Parses one size or a range `FROM..TO/STEP` or `FROM..TO*FACTOR`, including both ends.
pub(crate) fn parse_list(text: &str) -> Result<Vec<u64>, String> {
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(vec![parse(text)?]);
    };
    let empty = || format!("the range {text} is empty");
    if let Some((to, factor)) = rest.split_once('*') {
        let (from, to, factor) = (parse(from)?, parse(to)?, parse(factor)?);
        if factor < 2 || from == 0 || from > to {
            return Err(empty());
        }
        let next = |size: &u64| size.checked_mul(factor).filter(|size| *size <= to);
        return Ok(std::iter::successors(Some(from), next).collect());
    }
    let (to, step) = rest
        .split_once('/')
        .ok_or(format!("{text} lacks a step: FROM..TO/STEP, FROM..TO*FACTOR"))?;
    let (from, to, step) = (parse(from)?, parse(to)?, parse(step)?);
    if step == 0 || from > to {
        return Err(empty());
    }
    let count = (to - from) / step + 1;
    if count > MOST_SIZES {
        return Err(format!(
            "the range {text} has {count} sizes; at most {MOST_SIZES} are measured"
        ));
    }
    Ok((0..count).map(|n| from + n * step).collect())
}

/// The shortest exact form: `64 KiB`, `1025`.
pub(crate) fn show(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >> shift > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("64KiB"), Ok(65536));
        assert_eq!(parse("64 KiB"), Ok(65536));
        assert_eq!(parse("2g"), Ok(2 << 30));
        assert_eq!(parse("1TiB"), Ok(1 << 40));
        assert!(parse("3Q").unwrap_err().contains("KiB, MiB, GiB or TiB"));
        for wrong in ["", "KiB", "1KB", "-1", "1.5M", "99999999999GiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_list("0..200/61"), Ok(vec![0, 61, 122, 183]));
        assert_eq!(parse_list("3..1KiB*4"), Ok(vec![3, 12, 48, 192, 768]));
        assert_eq!(parse_list("1..8GiB*2").unwrap().len(), 34);
        assert!(parse_list("0..9*2").is_err() && parse_list("1..9*1").is_err());
        assert!(parse_list("0..9").is_err() && parse_list("9..0/1").is_err());
        assert!(parse_list("0..9/0").is_err() && parse_list("0..9GiB/1").is_err());
        assert_eq!(show(65536), "64 KiB");
        assert_eq!(show(1025), "1025 B");
    }
}
