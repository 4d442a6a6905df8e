//! Lines about tensors on standard output.

use crate::shell::sheet::{Row, Sheet, Text};
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use std::path::Path;
use treewide_files::list::json::Object;
use treewide_tensors::{Difference, Finding, TensorDigest, Tensors, Verdict, list};

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
pub(super) fn finding(sheet: &mut Sheet, finding: &Finding) -> anyhow::Result<()> {
    let tone = match finding.verdict {
        Verdict::Moved | Verdict::Added | Verdict::Alias => Tone::Moved,
        _ => Tone::Changed,
    };
    let detail = finding.detail(list::escape);
    let text = || {
        let word = finding.verdict.word().to_uppercase();
        let blanks = " ".repeat(10 - word.len());
        (String::new(), word, format!("{blanks}{}  {detail}", list::escape(&finding.name)))
    };
    sheet.row(&Row {
        detail: detail.clone(),
        more: &|object| keys(object, finding),
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

fn keys(object: &mut Object, finding: &Finding) {
    for (key, tensor) in [("old", &finding.old), ("new", &finding.new)] {
        match tensor {
            Some(tensor) => object.raw(key, add(&mut Object::new(), tensor).finish().trim_end()),
            None => object.null(key),
        };
    }
    object.string_or_null("other", finding.other.as_deref());
    if let Some(Difference { rows, values }) = &finding.difference {
        let ranges: Vec<_> =
            rows.first.iter().map(|it| format!("[{},{}]", it.start, it.end)).collect();
        object
            .list("rows", &ranges)
            .number("more_ranges", rows.more)
            .number("rows_different", rows.different);
        // JSON has no infinity.
        let number = |it: f64| if it.is_finite() { it.to_string() } else { "null".to_owned() };
        if let Some(values) = values {
            object.number("values", values.all).number("values_equal", values.equal);
            object.raw("largest_difference", number(values.largest));
            object.raw("relative_norm", number(values.norm));
        }
    }
}
