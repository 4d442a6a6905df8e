//! Sizes in bytes, and ranges of them with a step, `0..64KiB/61`, or a factor, `1KiB..1GiB*2`.

pub(crate) use treewide_files::size::parse;

/// The most sizes. Longer tables are not read, and their inputs fill the memory.
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
    fn ranges_have_a_step_or_a_factor() {
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
