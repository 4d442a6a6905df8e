//! Lines about tensors on standard output.

use crate::shell::sheet::{Row, Sheet, Text};
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use std::path::Path;
use treewide_files::list::json::Object;
use treewide_tensors::{Finding, Rows, TensorDigest, Tensors, Verdict, list};

/// The most ranges of rows that a line for people names.
const NAMED: usize = 3;

/// Writes the list of a model.
pub(super) fn list(sheet: &mut Sheet, tensors: &Tensors, json: bool) -> anyhow::Result<()> {
    if json {
        for (name, tensor) in tensors.iter() {
            let more = |object: &mut Object| {
                add(object, tensor);
            };
            let row = Row::new(Path::new(name), "hashed", "tensor", Tone::Good);
            sheet.row(&Row { more: &more, ..row })?;
        }
        return Ok(());
    }
    let (text, output) = (list::text(tensors), sheet.output());
    for line in text.split_inclusive('\n') {
        // A terminal would show where TABs are as it shows other control characters.
        let line = match output.is_terminal() {
            true => line.replacen('\t', "  ", 1).replacen('\t', "", 1),
            false => line.to_owned(),
        };
        output.record(Form::Lines, |to| to.write_all(line.as_bytes()))?;
    }
    Ok(())
}

/// Writes what differs about a tensor.
pub(super) fn finding(
    sheet: &mut Sheet,
    finding: &Finding,
    rows: Option<&Rows>,
) -> anyhow::Result<()> {
    let tone = match finding.verdict {
        Verdict::Moved | Verdict::Added | Verdict::Alias => Tone::Moved,
        _ => Tone::Changed,
    };
    let detail = finding.detail(list::escape) + &rows.map_or_else(String::new, named);
    let text = || {
        let word = finding.verdict.word().to_uppercase();
        let blanks = " ".repeat(10 - word.len());
        (String::new(), word, format!("{blanks}{}  {detail}", list::escape(&finding.name)))
    };
    sheet.row(&Row {
        detail: detail.clone(),
        more: &|object| keys(object, finding, rows),
        text: Text::Parts(&text),
        ..Row::new(Path::new(&finding.name), finding.verdict.word(), "tensor", tone)
    })?;
    sheet.flush()
}

/// Adds type, shape and digest.
fn add<'a>(object: &'a mut Object, tensor: &TensorDigest) -> &'a mut Object {
    let shape: Vec<_> = tensor.shape.iter().map(u64::to_string).collect();
    object
        .string("dtype", &tensor.dtype)
        .list("shape", &shape)
        .string("digest", &tensor.hash().to_hex())
}

fn keys(object: &mut Object, finding: &Finding, rows: Option<&Rows>) {
    for (key, tensor) in [("old", &finding.old), ("new", &finding.new)] {
        match tensor {
            Some(tensor) => object.raw(key, add(&mut Object::new(), tensor).finish().trim_end()),
            None => object.null(key),
        };
    }
    object.string_or_null("other", finding.other.as_deref());
    if let Some(rows) = rows {
        let ranges: Vec<_> =
            rows.first.iter().map(|it| format!("[{},{}]", it.start, it.end)).collect();
        object
            .list("rows", &ranges)
            .number("more_ranges", rows.more)
            .number("rows_different", rows.different);
    }
}

/// Such as `, 12 of 64 rows: 17, 20..30 and 2 more`.
fn named(rows: &Rows) -> String {
    let ranges = rows.first.iter().take(NAMED).map(|it| match it.end - it.start {
        1 => it.start.to_string(),
        _ => format!("{}..{}", it.start, it.end),
    });
    let more = rows.first.len().saturating_sub(NAMED) as u64 + rows.more;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (ranges, all) = (ranges.collect::<Vec<_>>().join(", "), count(rows.all, "row"));
    format!(", {} of {all}: {ranges}{more}", rows.different)
}
