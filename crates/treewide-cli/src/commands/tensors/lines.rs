//! Lines about tensors on standard output.

use crate::shell::output::Output;
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use treewide::Hash;
use treewide_files::list::json::Object;
use treewide_tensors::{Comparison, Finding, Rows, TensorDigest, Tensors, Verdict, list};

/// The most ranges of rows that a line for people names.
const NAMED: usize = 3;

/// Writes what was found.
pub(super) struct Lines<'a> {
    output: Output<'a>,
    json: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(output: Output<'a>, json: bool) -> Self {
        Self { output, json }
    }

    /// Writes the list of a model, and ends.
    pub(super) fn list(mut self, tensors: &Tensors, fingerprint: Hash) -> anyhow::Result<()> {
        if self.json {
            for (name, tensor) in tensors {
                let mut object = Object::new();
                object.string("name", name);
                add(&mut object, tensor);
                self.object(&mut object)?;
            }
            let mut object = Object::new();
            object.string("fingerprint", &fingerprint.to_hex());
            self.object(object.number("tensors", tensors.len() as u64))?;
        } else {
            let text = list::text(tensors);
            for line in text.split_inclusive('\n') {
                // A terminal would show where TABs are as it shows other control characters.
                let line = match self.output.is_terminal() {
                    true => line.replacen('\t', "  ", 1).replacen('\t', "", 1),
                    false => line.to_owned(),
                };
                self.output.record(Form::Lines, |to| to.write_all(line.as_bytes()))?;
            }
        }
        self.output.finish()
    }

    /// Writes what differs about a tensor.
    pub(super) fn finding(&mut self, finding: &Finding, rows: Option<&Rows>) -> anyhow::Result<()> {
        if self.json {
            return self.object(&mut object(finding, rows));
        }
        let tone = match finding.verdict {
            Verdict::Moved | Verdict::Added => Tone::Moved,
            _ => Tone::Changed,
        };
        let (name, detail) = (list::escape(&finding.name), finding.detail(list::escape));
        let rows = rows.map_or_else(String::new, named);
        let word = finding.verdict.word().to_uppercase();
        let blanks = " ".repeat(10 - word.len());
        self.output.verdict("", (tone, &word), &format!("{blanks}{name}  {detail}{rows}"))?;
        self.output.flush()
    }

    /// Counts what differs, for programs, and ends.
    pub(super) fn counts(mut self, compared: &Comparison) -> anyhow::Result<()> {
        if self.json {
            let mut object = Object::new();
            object.number("same", compared.same);
            for verdict in Verdict::ALL {
                object.number(verdict.word(), compared.count(verdict));
            }
            object.raw("differs", !compared.is_same());
            self.object(&mut object)?;
        }
        self.output.finish()
    }

    fn object(&mut self, object: &mut Object) -> anyhow::Result<()> {
        let line = object.finish();
        self.output.record(Form::Json, |to| to.write_all(line.as_bytes()))
    }
}

/// Adds type, shape and digest.
fn add<'a>(object: &'a mut Object, tensor: &TensorDigest) -> &'a mut Object {
    let shape: Vec<_> = tensor.shape.iter().map(u64::to_string).collect();
    object
        .string("dtype", &tensor.dtype)
        .list("shape", &shape)
        .string("digest", &tensor.hash().to_hex())
}

fn object(finding: &Finding, rows: Option<&Rows>) -> Object {
    let mut object = Object::new();
    object.string("name", &finding.name).string("verdict", finding.verdict.word());
    for (key, tensor) in [("old", &finding.old), ("new", &finding.new)] {
        match tensor {
            Some(tensor) => object.raw(key, add(&mut Object::new(), tensor).finish().trim_end()),
            None => object.null(key),
        };
    }
    match &finding.other {
        Some(other) => object.string("other", other),
        None => object.null("other"),
    };
    if let Some(rows) = rows {
        let ranges: Vec<_> =
            rows.first.iter().map(|it| format!("[{},{}]", it.start, it.end)).collect();
        object
            .list("rows", &ranges)
            .number("more_ranges", rows.more)
            .number("rows_different", rows.different);
    }
    object
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
