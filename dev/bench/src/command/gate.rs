//! Measures bars: rows that must be at least `at_least` times as fast as another engine.
//! The section Gates of dev/bench/README.md is the reference of their files.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::cli;
use crate::engine;
use crate::plan::{Plan, inputs};
use crate::report::{Bar, Caches, Pool, Row, Varies, Verdict};
use crate::size;
use crate::spec::Spec;
use crate::table;
use crate::work::{Feed, Fill, Mode, Operation, Shape, Work};

/// Inconclusive rows are measured again, this many times as long.
const LONGER: u32 = 8;

/// The most rows that are measured again: with more inconclusive rows the machine is too noisy.
const AGAIN: usize = 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gate {
    title: String,
    /// Time for each row, if less than `--budget`: for gates with very many rows.
    #[serde(default)]
    budget_ms: Option<u64>,
    bars: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    what: What,
    #[serde(default)]
    sizes: Vec<String>,
    /// Of batches.
    #[serde(default)]
    shape: Option<Shape>,
    /// Of batches of equal blobs, of each of the sizes.
    #[serde(default)]
    counts: Vec<u64>,
    /// Of operations.
    #[serde(default)]
    operation: Option<Operation>,
    /// Bytes of each piece of an operation.
    #[serde(default)]
    pieces: Vec<String>,
    /// The cache that the inputs fill; the default is the smallest that holds two.
    #[serde(default)]
    fill: Option<Fill>,
    engine: String,
    against: String,
    at_least: f64,
    #[serde(default)]
    aim: Option<f64>,
    /// Other processes keep every CPU busy.
    #[serde(default)]
    busy: bool,
    /// The state of the pool before each call.
    #[serde(default)]
    pool: Option<Pool>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Hash,
    Keyed,
    Derive,
    Xof,
    Batch,
    Merkle,
    Operation,
    Program,
}

pub(super) fn run(args: &cli::Gate) -> Result<ExitCode> {
    let name = || args.file.display().to_string();
    let text =
        std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {}", name()))?;
    let gate: Gate = toml::from_str(&text).with_context(name)?;
    let budget = args.common.budget.unwrap_or(super::BUDGET_MS);
    let budget = Some(gate.budget_ms.unwrap_or(u64::MAX).min(budget).max(1));
    let mut session = super::session(&cli::Common { budget, ..args.common.clone() })?;
    let caches = session.machine.caches;
    let mut asked: Vec<(Plan, Bar)> = vec![];
    for (index, ask) in gate.bars.iter().enumerate() {
        let plans = ask.plans(&caches).with_context(|| format!("{}: bar {}", name(), index + 1))?;
        asked.extend(plans.into_iter().map(|plan| {
            let row = plan.id.clone();
            // Until it is measured.
            let verdict = Verdict::Inconclusive;
            (plan, Bar { row, of: None, at_least: ask.at_least, aim: ask.aim, verdict })
        }));
    }
    let mut ids = BTreeSet::new();
    if let Some((plan, _)) = asked.iter().find(|(plan, _)| !ids.insert(plan.id.clone())) {
        bail!("{}: '{}' is asked for twice", name(), plan.id);
    }
    if asked.is_empty() {
        bail!("{} asks for nothing", name());
    }
    let plans: Vec<Plan> = asked.iter().map(|(plan, _)| plan.clone()).collect();
    session.run(&plans)?;
    let confidence = session.confidence_of_each();
    let unclear = |row: &&Row| {
        let bar = asked.iter().find(|(plan, _)| plan.id == row.id);
        let ratio = row.ratios_of_samples(confidence).into_iter().next();
        bar.zip(ratio)
            .is_some_and(|((_, bar), ratio)| bar.verdict_of(&ratio) == Verdict::Inconclusive)
    };
    let unclear: Vec<String> =
        session.rows().iter().filter(unclear).map(|row| row.id.clone()).collect();
    for id in unclear.iter().take(AGAIN) {
        if let Some((plan, _)) = asked.iter().find(|(plan, _)| plan.id == *id) {
            session.again(plan, session.budget() * LONGER)?;
        }
    }
    let measured: BTreeSet<String> = session.rows().iter().map(|row| row.id.clone()).collect();
    let bars = asked.into_iter().map(|(_, bar)| bar).filter(|bar| measured.contains(&bar.row));
    let report = session.finish_with(bars.collect());
    let mut text = format!(
        "{}: {}",
        gate.title,
        table::verdicts(&report.rows, &report.bars, report.refused.len())
    );
    for refused in &report.refused {
        text += &format!("  not measured: {}: {}\n", refused.id, refused.reason);
    }
    super::finish_with(&report, &args.common, &text)?;
    Ok(super::code(&report.bars, report.refused.len()))
}

impl Ask {
    fn plans(&self, caches: &Caches) -> Result<Vec<Plan>> {
        if !self.at_least.is_finite() || self.at_least <= 0.0 {
            bail!("at_least is {}, which is not a ratio", self.at_least);
        }
        let sides = [self.engine.parse::<Spec>()?, self.against.parse::<Spec>()?];
        if self.what != What::Program {
            for side in &sides {
                engine::find(&side.engine)?;
            }
        }
        let [ours, theirs] = &sides;
        let varies = match self.what {
            _ if ours.engine != theirs.engine => Varies::Engine,
            _ if ours.threads() != theirs.threads() => Varies::Threads,
            _ if ours.kernel != theirs.kernel => Varies::Kernel,
            _ => bail!("{ours} against itself"),
        };
        let plans = self.works(caches)?.into_iter().map(|work| {
            let mut id = format!("{work}: {ours} against {theirs}");
            if let Work::Input { fill, .. } = work
                && self.fill.is_some()
            {
                id += &format!(", {fill:?}").to_lowercase();
            }
            if self.busy {
                id += ", busy";
            }
            if let Some(pool) = self.pool {
                id += &format!(", {}", pool.words()[1]);
            }
            let (busy, pool) = (self.busy, self.pool);
            Plan { id, work, sides: sides.to_vec(), varies, busy, pool }
        });
        Ok(plans.collect())
    }

    fn works(&self, caches: &Caches) -> Result<Vec<Work>> {
        if self.fill.is_some() && !matches!(self.what, What::Hash | What::Keyed | What::Derive) {
            bail!("fill works with hash, keyed and derive only");
        }
        if let Some(shape) = self.shape.clone() {
            if self.what != What::Batch || !self.sizes.is_empty() || !self.counts.is_empty() {
                bail!("a shape works with batches only, without sizes and counts");
            }
            return Ok(vec![Work::Batch { shape }]);
        }
        if self.counts.is_empty() == (self.what == What::Batch) {
            bail!("a batch needs counts with sizes, or a shape");
        }
        let sizes = self.sizes.iter().map(|text| size::parse_list(text));
        let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::msg)?.concat();
        if sizes.is_empty() {
            bail!("this needs sizes");
        }
        if self.what == What::Batch {
            let equal = |&count: &u64| {
                sizes.iter().map(move |&bytes| Work::Batch { shape: Shape::Equal { count, bytes } })
            };
            return Ok(self.counts.iter().flat_map(equal).collect());
        }
        if (self.what == What::Operation) != self.operation.is_some() {
            bail!("an operation needs a name, and nothing else has one");
        }
        if let Some(operation) = self.operation {
            let pieces = self.pieces.iter().map(|text| size::parse_list(text));
            let pieces = pieces.collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::msg)?;
            let pieces = if pieces.is_empty() { vec![0] } else { pieces.concat() };
            let work = |bytes| {
                let fits = pieces.iter().filter(move |it| **it <= bytes || operation.is_fed());
                fits.map(move |&piece| Work::Operation { operation, bytes, piece })
            };
            return Ok(sizes.into_iter().flat_map(work).collect());
        }
        let input = |mode, bytes| inputs(mode, Feed::OneShot, bytes, self.fill, caches);
        let work = |bytes: u64| match self.what {
            What::Hash => input(Mode::Hash, bytes),
            What::Keyed => input(Mode::Keyed, bytes),
            What::Derive => input(Mode::Derive, bytes),
            What::Xof => Work::Output { bytes },
            What::Merkle => Work::Merkle { leaves: bytes },
            What::Program | What::Batch | What::Operation => Work::Program { bytes },
        };
        Ok(sizes.into_iter().map(work).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The section about gates.
    fn reference() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        let text = std::fs::read_to_string(path).unwrap();
        text.split("\n## ").find(|it| it.starts_with("Gates\n")).unwrap().to_owned()
    }

    /// The names that the error for a wrong one lists.
    fn names(wrong: &str) -> Vec<String> {
        let Err(error) = toml::from_str::<Gate>(wrong) else { panic!("{wrong}: no error") };
        let (_, names) = error.message().split_once("expected one of ").expect("a list of names");
        names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn reference_names_every_field_and_value() {
        let reference = reference();
        let bar = |line: &str| format!("title = \"\"\n[[bars]]\n{line}\n");
        let mut cases = 0;
        for (wrong, quote) in [
            ("nothing = 1", '`'),
            (&bar("nothing = 1"), '`'),
            (&bar("what = \"nothing\""), '"'),
            (&bar("fill = \"nothing\""), '"'),
            (&bar("shape = { lengths = \"nothing\" }"), '"'),
            (&bar("operation = \"nothing\""), '"'),
            (&bar("pool = \"nothing\""), '"'),
        ] {
            for name in names(wrong) {
                let shown = format!("{quote}{name}{quote}");
                assert!(name == "bars" || reference.contains(&shown), "{shown} is not there");
                cases += 1;
            }
        }
        assert!(cases > 25, "{cases} names");
        println!("{cases} cases");
    }

    #[test]
    fn example_of_the_reference_is_a_gate() {
        let reference = reference();
        let example = reference.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let gate: Gate = toml::from_str(example).unwrap();
        let caches = Caches { l1: 32 << 10, l2: 1 << 20, l3: 32 << 20 };
        let rows: Vec<usize> =
            gate.bars.iter().map(|ask| ask.plans(&caches).unwrap().len()).collect();
        assert_eq!((gate.budget_ms, rows), (Some(100), vec![7, 4, 1, 3]));
    }
}
