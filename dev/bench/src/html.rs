//! Writes reports as one HTML page that needs nothing else: no scripts, no fonts, no images except for the plots, which are
//! SVG inside the page.
//!
//! A plot is drawn twice, for wide and for narrow pages, because text that shrinks with a plot cannot be read on a phone.
//! Colours are variables of the style sheet, so that they follow the reader's choice of light or dark, and print well.

use std::fmt::Write as _;

use anyhow::Result;

use crate::report::{Report, Row, Varies};
use crate::table;
use crate::work::Work;

mod plot;

use plot::{Bar, Line, Scale};

const STYLE: &str = include_str!("html/style.css");

/// The page of these reports.
pub(crate) fn page(reports: &[Report]) -> Result<String> {
    let mut body = String::new();
    for report in reports {
        body.push_str(&one(report)?);
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>treewide, measured</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<h1>treewide, measured</h1>\n{body}</main>\n</body>\n</html>\n"
    ))
}

fn one(report: &Report) -> Result<String> {
    let mut html = heading(report);
    if !report.bars.is_empty() {
        html.push_str(&bars(report));
    }
    for rows in table::groups(&report.rows) {
        html.push_str(&section(rows)?);
    }
    if !report.refused.is_empty() {
        html.push_str("<section>\n<h2>Not measured</h2>\n<ul>\n");
        for refused in &report.refused {
            let _ = writeln!(html, "<li>{}: {}</li>", escape(&refused.id), escape(&refused.reason));
        }
        html.push_str("</ul>\n</section>\n");
    }
    Ok(html)
}

fn heading(report: &Report) -> String {
    let (build, machine, memory) = (&report.build, &report.machine, &report.memory);
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    let caches = [("L1", machine.caches.l1), ("L2", machine.caches.l2), ("L3", machine.caches.l3)];
    let caches = caches.map(|(name, size)| format!("{name} {}", table::short_size(size as f64)));
    let governor = machine.governor.as_deref().unwrap_or("not readable");
    let load = machine.load.map_or(String::new(), |it| format!("; load {it:.2} when it began"));
    let engines: Vec<String> = (build.engines.iter())
        .filter(|(name, _)| *name == "treewide-gpu" || !name.starts_with("treewide-"))
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let facts = [
        (
            "Machine",
            format!("{}, {} CPUs, {gib:.0} GiB, {}{load}", machine.cpu, machine.cpus, machine.os),
        ),
        ("Caches", format!("{}; governor {governor}", caches.join(", "))),
        ("Kernel of treewide", report.kernel.clone()),
        ("Built from", format!("{}, {}, {}", table::source(report), build.rustc, build.target)),
        ("Engines", engines.join(", ")),
        ("Command", format!("treewide-bench {}", report.command.join(" "))),
        (
            "Run",
            format!(
                "{}, {:.0} s, peak memory {}",
                report.started,
                report.seconds,
                table::short_size((memory.peak_rss >> 20 << 20) as f64)
            ),
        ),
    ];
    let mut html = String::from("<section>\n<dl>\n");
    for (name, fact) in facts {
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&fact));
    }
    let _ = writeln!(
        html,
        "</dl>\n<p>Engines take turns in one process, in random order. Times are medians; a ratio is \
         the median of the ratios turn by turn, and its interval is such that all {:.0}% intervals of \
         the report hold together. Every digest was checked before and after it was timed. GB are \
         10⁹ bytes.</p>\n</section>",
        report.settings.confidence * 100.0
    );
    html
}

/// The verdicts of a gate.
fn bars(report: &Report) -> String {
    let verdicts = escape(&table::verdicts(&report.rows, &report.bars, report.refused.len()));
    let (counts, rows) = verdicts.split_once('\n').unwrap_or_default();
    let mut html = format!("<section>\n<h2>Bars</h2>\n<p>{counts}</p>\n");
    if !rows.is_empty() {
        let _ = writeln!(html, "<pre>{rows}</pre>");
    }
    html.push_str("</section>\n");
    html
}

/// A group of rows: its plots, and a table to open.
fn section(rows: &[Row]) -> Result<String> {
    let mut html = format!("<section>\n<h2>{}</h2>\n", escape(&table::caption(rows)));
    if rows.iter().all(|row| axis(row).is_some()) && rows.len() > 2 {
        html.push_str(&over_size(rows)?);
    } else if rows.iter().any(|row| !row.ratios.is_empty()) {
        html.push_str(&ratios(rows)?);
    }
    html.push_str("<details>\n<summary>All figures</summary>\n");
    html.push_str(&figures(rows));
    html.push_str("</details>\n</section>\n");
    Ok(html)
}

/// The size of a row, if it is one that rows are drawn over.
fn axis(row: &Row) -> Option<f64> {
    match row.work {
        _ if row.class == "steps" => None,
        Work::Input { bytes, .. }
        | Work::Output { bytes }
        | Work::File { bytes, .. }
        | Work::Program { bytes, .. }
        | Work::Device { bytes, .. }
        | Work::Sampled { bytes } => Some(bytes as f64),
        _ => None,
    }
}

/// Throughput and ratio over size; and the same over the sizes of few chunks, where lanes fill up
/// step by step, if there are enough of them.
fn over_size(rows: &[Row]) -> Result<String> {
    let mut html = lines(rows, "", Scale::Doublings)?;
    let few = |row: &&Row| (1024..=33 * 1024).contains(&row.bytes);
    let chunks: Vec<Row> = rows.iter().filter(few).cloned().collect();
    if chunks.len() > 11 && chunks.len() + 5 < rows.len() {
        html.push_str(&lines(&chunks, ", 1 to 32 chunks", Scale::Chunks)?);
    }
    Ok(html)
}

fn lines(rows: &[Row], which: &str, scale: Scale) -> Result<String> {
    let first = &rows[0].sides[0].name;
    // Below a block, throughput says nothing.
    let throughput: Vec<Line> = (0..rows[0].sides.len())
        .map(|at| Line {
            name: table::side_name(&rows[0].sides[at]),
            points: points(rows, 64, |row| {
                let it = row.sides[at].stats.bytes_per_second / 1e9;
                (it, it, it)
            }),
        })
        .collect();
    let ratio: Vec<Line> = (0..rows[0].ratios.len())
        .map(|at| Line {
            name: format!("{} / {first}", rows[0].ratios[at].of),
            points: points(rows, 1, |row| {
                let it = &row.ratios[at];
                (it.median, it.low, it.high)
            }),
        })
        .collect();
    let mut html = String::new();
    let caption = format!("Throughput over size, GB/s{which}");
    let names = legend(&throughput, 0);
    let draw = |wide| plot::lines(&throughput, scale, None, 0, wide);
    html.push_str(&figure(&caption, &names, &draw)?);
    if let Some(one) = rows[0].ratios.first() {
        let whom = match rows[0].varies {
            Varies::Threads if ratio.len() == 1 => "one thread".to_owned(),
            _ if ratio.len() == 1 => one.of.clone(),
            _ => "the others".to_owned(),
        };
        let names = if ratio.len() > 1 { legend(&ratio, 1) } else { String::new() };
        let caption = format!("{first}, times as fast as {whom}{which}");
        let draw = |wide| plot::lines(&ratio, scale, Some(1.0), 1, wide);
        html.push_str(&figure(&caption, &names, &draw)?);
    }
    Ok(html)
}

/// A value and its interval for each row of at least `least` bytes.
fn points(
    rows: &[Row],
    least: u64,
    value: impl Fn(&Row) -> (f64, f64, f64),
) -> Vec<(f64, (f64, f64, f64))> {
    let rows = rows.iter().filter(|row| row.bytes >= least);
    let mut points: Vec<_> = rows.map(|row| (row.bytes as f64, value(row))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Ratios of rows without an axis.
fn ratios(rows: &[Row]) -> Result<String> {
    let first = &rows[0].sides[0].name;
    let of = &rows[0].ratios[0].of;
    let bars: Vec<Bar> = rows
        .iter()
        .filter_map(|row| {
            let ratio = row.ratios.first()?;
            let name = row.id.trim_start_matches("batch ").to_owned();
            Some(Bar { name, value: ratio.median, low: ratio.low, high: ratio.high })
        })
        .collect();
    figure(&format!("{first}, times as fast as {of}"), "", &|wide| plot::bars(&bars, wide))
}

/// Names with the colours of their lines, from series `from` on.
fn legend(lines: &[Line], from: usize) -> String {
    let mut html = String::from("<ul class=\"legend\">\n");
    for (at, Line { name, .. }) in lines.iter().enumerate() {
        let series = (at + from) % plot::SERIES + 1;
        let _ = writeln!(
            html,
            "<li><i style=\"background:var(--series-{series})\"></i>{}</li>",
            escape(name)
        );
    }
    html.push_str("</ul>\n");
    html
}

/// A plot in both widths, with the names of its lines.
fn figure(caption: &str, names: &str, draw: &dyn Fn(bool) -> Result<String>) -> Result<String> {
    let caption = escape(caption);
    let mut html = format!("<figure>\n<figcaption>{caption}</figcaption>\n{names}");
    for (wide, class) in [(true, "wide"), (false, "narrow")] {
        let svg = draw(wide)?;
        let label = format!("<svg class=\"{class}\" role=\"img\" aria-label=\"{caption}\" ");
        html.push_str(&svg.replacen("<svg ", &label, 1));
    }
    html.push_str("</figure>\n");
    Ok(html)
}

fn figures(rows: &[Row]) -> String {
    let first = &rows[0].sides[0].name;
    let mut html = String::from("<div class=\"table\"><table>\n<thead><tr><th></th>");
    for side in &rows[0].sides {
        let _ = write!(html, "<th>{}</th><th>GB/s</th>", escape(&table::side_name(side)));
    }
    for ratio in &rows[0].ratios {
        let _ = write!(html, "<th>{} / {}</th><th>interval</th>", escape(&ratio.of), escape(first));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        let _ = write!(html, "<tr><th>{}</th>", escape(&row.id));
        for side in &row.sides {
            let throughput = table::throughput(row, side).unwrap_or_default();
            let _ =
                write!(html, "<td>{}</td><td>{throughput}</td>", table::time(side.stats.median));
        }
        for ratio in &row.ratios {
            let (median, low, high) = (ratio.median, ratio.low, ratio.high);
            let _ = write!(html, "<td>{median:.2}</td><td>{low:.2} – {high:.2}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
