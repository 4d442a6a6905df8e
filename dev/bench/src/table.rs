//! Reports as tables: for terminals, and in Markdown for documents.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use crate::report::{Bar, Ratio, Report, Row, Side, Varies, Verdict};
use crate::work::Work;

/// A whole report on one page.
pub(crate) fn of(report: &Report) -> String {
    let mut text = heading(report);
    text.push_str(&tables(&report.rows));
    if !report.refused.is_empty() {
        text.push_str("\nnot measured\n");
        for refused in &report.refused {
            let _ = writeln!(text, "  {}: {}", refused.id, refused.reason);
        }
    }
    text
}

/// The tables of these rows, with an empty line before each.
pub(crate) fn tables(rows: &[Row]) -> String {
    groups(rows).into_iter().map(|rows| format!("\n{}", group(rows))).collect()
}

/// Where the numbers come from, and how to read them.
fn heading(report: &Report) -> String {
    let (build, machine) = (&report.build, &report.machine);
    let mut text = String::new();
    let _ = writeln!(text, "{}; {} CPUs; {}", machine.cpu, machine.cpus, machine.os);
    let _ = writeln!(text, "{}; {}; kernel {}", source(report), build.rustc, report.kernel);
    text.push_str(&reading(&report.rows, report.settings.confidence));
    if let Some(load) = machine.is_busy() {
        let _ = writeln!(
            text,
            "The load was {load:.2} when this began: other programs make intervals wide. Measure again on \
             an idle machine."
        );
    }
    if build.profile.contains("opt-level 0") {
        text.push_str("THIS BUILD IS NOT OPTIMISED: build with --release.\n");
    }
    text
}

/// How to read the tables of these rows.
pub(crate) fn reading(rows: &[Row], confidence: f64) -> String {
    let mut text = format!(
        "Medians. A ratio is how many times as long the other takes, turn by turn: above 1, {} is \
         faster.\nAll {:.0}% intervals [low, high] hold together.\n",
        rows.first().and_then(|row| row.sides.first()).map_or("the first", |it| &it.name),
        confidence * 100.0,
    );
    if rows.iter().flat_map(|row| &row.ratios).any(Ratio::is_wide) {
        let wide = Ratio::WIDE;
        let _ = writeln!(text, "?: the ends of the interval differ by a factor of {wide} or more.");
    }
    text
}

/// The commit, short.
fn source(report: &Report) -> String {
    let commit = report.build.commit.get(..10).unwrap_or("no commit known");
    let dirty = if report.build.dirty { " with changes" } else { "" };
    format!("treewide {} ({commit}{dirty})", report.build.version)
}

/// Rows that follow one another and have the same sides.
fn groups(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| {
        let names = |row: &Row| row.sides.iter().map(|side| side.name.clone()).collect::<Vec<_>>();
        let how = |row: &Row| (row.class.clone(), row.varies, row.busy, row.pool, names(row));
        how(a) == how(b)
    })
    .collect()
}

/// The heading of a group.
fn caption(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    if matches!(first.work, Work::Sampled { .. }) {
        return String::new();
    }
    let what = match first.class.as_str() {
        "one-shot" => "One call for a whole input",
        "reuse" => "One update of a hasher that is used again",
        "streaming" => "Updates of 16 KiB of a new hasher",
        "xof" => "Extended output to a buffer",
        "operation" => "Operations of a hasher or a digest",
        "batch" => "Batches: all digests of many inputs",
        "merkle" => "Merkle trees: all levels",
        "program-warm" => "Programs from start to end, on a file in the page cache",
        "resident" => "Bytes in a device's memory",
        "private" => "Bytes that the device has written itself",
        "device" => "Bytes in a device's memory, by the device's clock",
        "shared" => "Bytes in memory that the host and the device share",
        "staged" => "Bytes of the host, through buffers that are there",
        "wrapped" => "Bytes of the host, which the device reads where they are",
        "end-to-end" => "Bytes of the host, to new memory of the device",
        "file" => "Files in the page cache, through buffers that are there",
        class => class,
    };
    let threads: Vec<u32> = first.sides.iter().map(|side| side.threads).collect();
    let threads = match first.varies {
        Varies::Threads => ", different numbers of threads".to_owned(),
        Varies::Nothing if matches!(first.work, Work::Device { .. }) => String::new(),
        _ if threads.iter().all(|&n| n == 1) => ", one thread".to_owned(),
        _ => format!(", {} threads each", threads[0]),
    };
    let busy = if first.busy { ", every CPU kept busy by other processes" } else { "" };
    let pool = first.pool.map_or(String::new(), |pool| format!(", {}", pool.words()[0]));
    format!("{what}{threads}{busy}{pool}")
}

fn group(rows: &[Row]) -> String {
    let mut lines = vec![vec![String::new()]];
    for side in &rows[0].sides {
        lines[0].push(side.name.clone());
    }
    for ratio in &rows[0].ratios {
        lines[0].push(format!("{} / {}", ratio.of, rows[0].sides[0].name));
    }
    for row in rows {
        let mut line = vec![row.id.clone()];
        line.extend(row.sides.iter().map(|side| figure(row, side)));
        line.extend(row.ratios.iter().map(ratio));
        lines.push(line);
    }
    let caption = caption(rows);
    let end = if caption.is_empty() { "" } else { "\n" };
    format!("{caption}{end}{}", align(&lines))
}

/// The first column to the left, the others to the right.
fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            let _ = match column {
                0 => write!(row, "  {cell:<width$}"),
                _ => write!(row, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// Time and throughput.
fn figure(row: &Row, side: &Side) -> String {
    let time = time(side.stats.median);
    throughput(row, side).map_or_else(|| time.clone(), |it| format!("{time} {it:>6} GB/s"))
}

/// In GB/s (10⁹ bytes a second); not for inputs below a block.
fn throughput(row: &Row, side: &Side) -> Option<String> {
    (row.bytes >= 64).then(|| format!("{:.2}", side.stats.bytes_per_second / 1e9))
}

/// Formats nanoseconds in a unit with one to three digits before the point.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 10.0 => format!("{ns:.2} ns"),
        ns if ns < 1000.0 => format!("{ns:.1} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s ", ns / 1e9),
    }
}

fn ratio(ratio: &Ratio) -> String {
    let mark = if ratio.is_wide() { " ?" } else { "" };
    format!("{:.2} [{:.2}, {:.2}]{mark}", ratio.median, ratio.low, ratio.high)
}

/// The verdicts of bars: the number of each, then the rows that are short or inconclusive.
pub(crate) fn verdicts(rows: &[Row], bars: &[Bar], not_measured: usize) -> String {
    let mut lines =
        vec![["row", "ratio", "at least", "aim", "verdict"].map(str::to_owned).to_vec()];
    let of = |verdict| bars.iter().filter(move |bar| bar.verdict == verdict);
    for (verdict, word) in [(Verdict::Short, "SHORT"), (Verdict::Inconclusive, "inconclusive")] {
        for bar in of(verdict) {
            let of = bar.of.as_ref().map_or(String::new(), |of| format!(", {of}"));
            lines.push(vec![
                format!("{}{of}", bar.row),
                bar.ratio(rows).map(ratio).unwrap_or_default(),
                format!("{:.2}", bar.at_least),
                bar.aim.map_or(String::new(), |aim| format!("{aim:.2}")),
                word.to_owned(),
            ]);
        }
    }
    let table = if lines.len() > 1 { align(&lines) } else { String::new() };
    format!(
        "{} met, {} short, {} inconclusive, {not_measured} not measured\n{table}",
        of(Verdict::Met).count(),
        of(Verdict::Short).count(),
        of(Verdict::Inconclusive).count(),
    )
}

/// Only the tables, in Markdown.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for (index, rows) in groups(rows).into_iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let first = &rows[0].sides[0];
        text.push_str("| |");
        rows[0].sides.iter().for_each(|side| _ = write!(text, " {} |", side.name));
        rows[0].ratios.iter().for_each(|it| _ = write!(text, " {} / {} |", it.of, first.name));
        text.push_str("\n|---|");
        text.push_str(&"---:|".repeat(rows[0].sides.len() + rows[0].ratios.len()));
        text.push('\n');
        for row in rows {
            let _ = write!(text, "| {} |", row.id);
            for side in &row.sides {
                let time = time(side.stats.median);
                let _ = match throughput(row, side) {
                    None => write!(text, " {} |", time.trim()),
                    Some(it) => write!(text, " {}, {it} GB/s |", time.trim()),
                };
            }
            row.ratios.iter().for_each(|it| _ = write!(text, " {:.2} |", it.median));
            text.push('\n');
        }
    }
    text
}

/// Rows of several machines next to each other: the throughput of the first side, and its speed relative to the second.
pub(crate) fn across(columns: &[(&str, Vec<Report>)], wanted: &[&str]) -> Result<String> {
    let mut text = String::from("| |");
    columns.iter().for_each(|(title, _)| _ = write!(text, " {title} |"));
    let _ = write!(text, "\n|---|{}\n", "---:|".repeat(columns.len()));
    for &id in wanted {
        let _ = write!(text, "| {id} |");
        let mut found = false;
        for (_, reports) in columns {
            let mut rows = reports.iter().flat_map(|report| &report.rows);
            let Some(row) = rows.find(|row| row.id == id && !row.ratios.is_empty()) else {
                text.push_str(" – |");
                continue;
            };
            found = true;
            let (side, ratio) = (&row.sides[0], row.ratios[0].median);
            let _ = match throughput(row, side) {
                None => write!(text, " {}, {ratio:.2} × |", time(side.stats.median).trim()),
                Some(it) => write!(text, " {it} GB/s, {ratio:.2} × |"),
            };
        }
        if !found {
            bail!("no record has a row '{id}'");
        }
        text.push('\n');
    }
    Ok(text)
}
