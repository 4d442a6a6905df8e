//! The row about a listed file, or about something in a store.

use crate::shell::sheet::{Row, Sheet, Text};
use crate::shell::tone::Tone;
use treewide_digests::check::{Finding, Status};
use treewide_digests::{Algorithm, By};
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, shown_text};

/// Writes it in these words; `type` is this kind.
pub(crate) fn write(
    sheet: &mut Sheet,
    finding: &Finding,
    kind: &str,
    (tone, word): (Tone, &str),
) -> anyhow::Result<()> {
    let cause = finding.cause.as_deref();
    // What is known of a listed file that is OK was in the list.
    let shown = cause.filter(|_| finding.store.is_some() || finding.status != Status::Ok);
    let more = |object: &mut Object| {
        object.string_or_null("digest", finding.digest.as_deref().map(hex).as_deref());
        object.string_or_null("expected", finding.expected.as_deref().map(hex).as_deref());
        object.string_or_null("algorithm", finding.algorithm.map(Algorithm::name));
        object.string_or_null("by", finding.by.map(By::name));
        object.number_or_null("expected_bytes", finding.expected_bytes);
        object.string_or_null("store", finding.store.map(|it| it.name));
    };
    let text = || {
        // Causes quote lists, and names that are in stores.
        let cause = shown.map_or_else(String::new, |it| format!(" ({})", shown_text(it)));
        (format!("{}: ", Listed::new(&finding.path)), word.to_owned(), cause)
    };
    sheet.row(&Row {
        bytes: finding.bytes,
        evidence: finding.bytes.map(|_| "read"),
        detail: cause.filter(|_| finding.status != Status::Ok).unwrap_or_default().to_owned(),
        more: &more,
        text: Text::Parts(&text),
        ..Row::new(&finding.path, finding.status.word(), kind, tone)
    })
}
