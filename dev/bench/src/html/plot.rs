//! Plots as SVG.
//!
//! The plotting library writes colours as numbers. The colours used here stand for variables of the style sheet, which
//! replace them.

use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::table;

/// Colours for lines; more lines begin with the first again.
pub(super) const SERIES: usize = 6;

const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(1, 1, 2);
const MARK: RGBColor = RGBColor(1, 1, 3);

fn series(at: usize) -> RGBColor {
    RGBColor(1, 2, (at % SERIES) as u8 + 1)
}

/// A line over size, with an interval at each point.
pub(super) struct Line {
    pub(super) name: String,
    /// Bytes, and the value with the ends of its interval.
    pub(super) points: Vec<(f64, (f64, f64, f64))>,
}

pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The scale of the axis of sizes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Logarithmic: equal distances for doublings.
    Doublings,
    /// Linear: equal distances for chunks.
    Chunks,
}

impl Scale {
    fn place(self, bytes: f64) -> f64 {
        match self {
            Self::Doublings => bytes.log2(),
            Self::Chunks => bytes,
        }
    }
}

/// Values over size. `mark` is a value with a line of its own, and that of
/// the axis that must be seen; colours are those from series `from` on.
pub(super) fn lines(
    lines: &[Line],
    scale: Scale,
    mark: Option<f64>,
    from: usize,
    wide: bool,
) -> Result<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let sizes = || points().map(|(bytes, _)| scale.place(*bytes));
    let (left, right) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let top = points().map(|(_, (value, _, _))| *value).chain(mark).fold(0.0, f64::max) * 1.08;
    let size = if wide { (900, 360) } else { (360, 280) };
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(4)
            .margin_right(if wide { 24 } else { 20 })
            .x_label_area_size(30)
            .y_label_area_size(36)
            .build_cartesian_2d(Sizes::new(scale, left..right.max(left + 1.0), wide), 0.0..top)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(("sans-serif", if wide { 14 } else { 12 }).into_font().color(&INK))
            .y_label_formatter(&|y| format!("{}", (y * 100.0).round() / 100.0))
            .y_labels(if wide { 8 } else { 6 })
            .draw()
            .map_err(failed)?;
        if let Some(mark) = mark {
            let line = LineSeries::new([(left, mark), (right, mark)], MARK.stroke_width(2));
            chart.draw_series(line).map_err(failed)?;
        }
        for (at, line) in lines.iter().enumerate() {
            let color = series(at + from);
            let points = || line.points.iter().map(|&(bytes, it)| (scale.place(bytes), it));
            let intervals = points().map(|(x, (_, low, high))| {
                PathElement::new([(x, low.min(top)), (x, high.min(top))], color.stroke_width(1))
            });
            chart.draw_series(intervals).map_err(failed)?;
            let values = points().map(|(x, (value, _, _))| (x, value));
            chart
                .draw_series(LineSeries::new(values.clone(), color.stroke_width(2)))
                .map_err(failed)?;
            let dots = values.map(|point| Circle::new(point, 3, color.filled()));
            chart.draw_series(dots).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(themed(&svg))
}

/// An axis of sizes, with powers of two or multiples of some KiB on it.
struct Sizes {
    scale: Scale,
    axis: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Sizes {
    fn new(scale: Scale, range: Range<f64>, wide: bool) -> Self {
        let room = if wide { 12.0 } else { 5.0 };
        let step = match scale {
            Scale::Doublings => ((range.end - range.start) / room).ceil().max(1.0),
            Scale::Chunks if wide => 4096.0,
            Scale::Chunks => 8192.0,
        };
        let first = (range.start / step).ceil();
        let count = (range.end / step - first + 0.01) as u32;
        let ticks = (0..=count).map(|n| (first + f64::from(n)) * step).collect();
        Self { scale, axis: range.into(), ticks }
    }
}

impl Ranged for Sizes {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.axis.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.axis.range()
    }
}

impl ValueFormatter<f64> for Sizes {
    fn format(value: &f64) -> String {
        value.to_string()
    }

    fn format_ext(&self, value: &f64) -> String {
        table::short_size(if self.scale == Scale::Doublings { value.exp2() } else { *value })
    }
}

/// Bars with their names above them, and their intervals.
pub(super) fn bars(bars: &[Bar], wide: bool) -> Result<String> {
    let (width, row, font) = if wide { (900, 40, 14) } else { (360, 42, 12) };
    let most = bars.iter().map(|bar| bar.high.max(bar.value)).fold(1.0, f64::max) * 1.12;
    let height = bars.len() as u32 * row + 34;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(4)
            .margin_left(10)
            .margin_right(16)
            .x_label_area_size(26)
            .build_cartesian_2d(0.0..most, bars.len() as f64..0.0)
            .map_err(failed)?;
        let text = ("sans-serif", font).into_font().color(&INK);
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(text.clone())
            .x_labels(if wide { 10 } else { 5 })
            .x_label_formatter(&|x| format!("{}", (x * 100.0).round() / 100.0))
            .draw()
            .map_err(failed)?;
        for (at, bar) in bars.iter().enumerate() {
            let (above, below) = (at as f64 + 0.48, at as f64 + 0.86);
            let middle = (above + below) / 2.0;
            let shape = Rectangle::new([(0.0, above), (bar.value, below)], series(0).filled());
            let interval =
                PathElement::new([(bar.low, middle), (bar.high, middle)], INK.stroke_width(1));
            let name = format!("{}: {:.2}", bar.name, bar.value);
            let style = text.clone().pos(Pos::new(HPos::Left, VPos::Bottom));
            chart.draw_series([shape]).map_err(failed)?;
            // Where neither is faster.
            let even = PathElement::new([(1.0, above), (1.0, below)], MARK.stroke_width(2));
            chart.draw_series([even]).map_err(failed)?;
            chart.draw_series([interval]).map_err(failed)?;
            chart.draw_series([Text::new(name, (0.0, above), style)]).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(themed(&svg))
}

fn failed<E: std::fmt::Display>(error: E) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

/// With variables of the style sheet for colours.
fn themed(svg: &str) -> String {
    let hex = |color: RGBColor| format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2);
    let mut svg = svg.replace(&hex(INK), "var(--ink)").replace(&hex(GRID), "var(--grid)");
    svg = svg.replace(&hex(MARK), "var(--mark)");
    for at in 0..SERIES {
        svg = svg.replace(&hex(series(at)), &format!("var(--series-{})", at + 1));
    }
    svg
}
