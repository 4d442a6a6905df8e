//! Measures a row: the sides alternate in one process.
//!
//! ```text
//! turn 0   B A C      every side once, in random order; a sample is the time of as many calls as
//! turn 1   A C B      the fastest side makes in 0.2 ms, at least one
//! ...                 ratio i = sample i of another side / sample i of the first
//! ```
//!
//! A disturbance of a turn (another program, a change of frequency) affects all its samples alike and mostly cancels in
//! their ratio. Every side's digest is checked before its first turn and after its last.

mod around;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rayon::ThreadPool;

use self::around::{AfterWork, Awake, Forced, InPool, Rested};
use crate::busy::Busy;
#[cfg(feature = "gpu")]
use crate::engine::device;
use crate::engine::file::{self, FileOnDisk};
use crate::engine::{self, ORACLE, Task};
use crate::machine;
use crate::plan::Plan;
use crate::random::Random;
use crate::report::{
    self, Bar, Family, Machine, Pool, Refused, Report, Row, SCHEMA, Settings, Side, Stats, Varies,
};
use crate::spec::{self, Spec};
use crate::stats::{self, MIN_SAMPLES};
use crate::work::{Place, Work};

/// The aim for the time of a sample, if one call takes less.
const SAMPLE: Duration = Duration::from_micros(200);

/// The most samples of a row.
const MAX_SAMPLES: usize = 301;

/// A run of this program that ends in a report.
pub(crate) struct Session {
    command: Vec<String>,
    clock: machine::Clock,
    pub(crate) machine: Machine,
    settings: Settings,
    /// The kernel of treewide when none is forced.
    kernel: String,
    stream: &'static [u8],
    pools: Vec<(usize, Arc<ThreadPool>)>,
    random: Random,
    rows: Vec<Row>,
    refused: Vec<Refused>,
    /// The number of planned rows, for progress.
    planned: usize,
    /// The most samples of a row.
    pub(crate) max_samples: usize,
    /// The file that is being hashed, while files are measured.
    file: Option<FileOnDisk>,
    /// The device that is being measured, while devices are measured.
    #[cfg(feature = "gpu")]
    pub(crate) device: Option<treewide_gpu::Device>,
}

/// Why a row was not measured: an answer, not a failure.
enum Refusal {
    Reason(String),
    Fatal(anyhow::Error),
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Self::Fatal(error)
    }
}

/// A side that is ready to be timed.
struct Contender {
    engine: String,
    spec: Spec,
    name: String,
    variant: String,
    task: Box<dyn Task>,
    calls: u64,
    samples: Vec<u64>,
    before: String,
}

impl Session {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            command: std::env::args().skip(1).collect(),
            clock: machine::Clock::start(),
            machine: machine::machine(),
            random: Random::new(settings.seed ^ 0x7475_726e),
            settings,
            kernel: treewide::kernel::detected().name().to_owned(),
            stream: &[],
            pools: vec![],
            rows: vec![],
            refused: vec![],
            planned: 0,
            max_samples: MAX_SAMPLES,
            file: None,
            #[cfg(feature = "gpu")]
            device: None,
        }
    }

    /// Measures every plan, or records in the report why not.
    ///
    /// # Errors
    /// If a digest is wrong.
    pub(crate) fn run(&mut self, plans: &[Plan]) -> Result<()> {
        self.run_for(plans, self.budget())
    }

    /// The same with another time for each row.
    pub(crate) fn run_for(&mut self, plans: &[Plan], budget: Duration) -> Result<()> {
        self.planned = self.rows.len() + plans.len();
        self.reserve(plans);
        for plan in plans {
            self.progress(&plan.id);
            match self.measure(plan, budget) {
                Ok(row) => self.rows.push(row),
                Err(Refusal::Reason(reason)) => self.refuse(&plan.id, reason),
                Err(Refusal::Fatal(error)) => return Err(error),
            }
        }
        self.progress("");
        Ok(())
    }

    /// Measures the plan of a row again, for longer, and puts it in that row's place.
    pub(crate) fn again(&mut self, plan: &Plan, budget: Duration) -> Result<()> {
        self.progress(&format!("{}, again", plan.id));
        match self.measure(plan, budget) {
            Ok(row) => {
                if let Some(place) = self.rows.iter_mut().find(|it| it.id == plan.id) {
                    *place = row;
                }
            }
            Err(Refusal::Reason(_)) => {}
            Err(Refusal::Fatal(error)) => return Err(error),
        }
        self.progress("");
        Ok(())
    }

    /// When it began, in UTC.
    pub(crate) fn started(&self) -> String {
        self.clock.started()
    }

    pub(crate) fn refuse(&mut self, id: &str, reason: String) {
        self.refused.push(Refused { id: id.to_owned(), reason });
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The confidence of each ratio so far, so that all of them hold together.
    pub(crate) fn confidence_of_each(&self) -> f64 {
        stats::each_of(report::ratios(&self.rows), self.settings.confidence)
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn budget(&self) -> Duration {
        Duration::from_millis(self.settings.budget_ms)
    }

    /// The stream that inputs come from, with at least that length.
    pub(crate) fn stream(&mut self, len: u64) -> &'static [u8] {
        if (self.stream.len() as u64) < len {
            self.stream = engine::stream(self.settings.seed, len);
        }
        self.stream
    }

    fn reserve(&mut self, plans: &[Plan]) {
        let works = plans.iter().map(|plan| &plan.work);
        let possible = works.filter(|work| work.fits(self.machine.memory_bytes / 2));
        let longest = possible.map(Work::stream_len).max().unwrap_or(0);
        self.stream(longest);
    }

    /// Shows the current row on standard error, if that is a terminal.
    pub(crate) fn progress(&self, id: &str) {
        let mut stderr = std::io::stderr();
        if stderr.is_terminal() {
            let at = self.rows.len() + self.refused.len() + 1;
            let line = match id {
                "" => String::new(),
                _ => format!("{at}/{} {id}", self.planned.max(at)),
            };
            let _ = write!(stderr, "\r\x1b[K{line}");
            let _ = stderr.flush();
        }
    }

    fn measure(&mut self, plan: &Plan, budget: Duration) -> Result<Row, Refusal> {
        if let Some(reason) = plan.refusal(&self.machine) {
            return Err(Refusal::Reason(reason));
        }
        let names = spec::names(&plan.sides);
        let mut sides = vec![];
        for (spec, name) in plan.sides.iter().zip(names) {
            let mut side = self.contender(plan, spec, name)?;
            side.task = match plan.pool {
                None => side.task,
                Some(Pool::Rest) => Box::new(Rested(side.task)),
                Some(Pool::Awake) => Box::new(Awake(side.task)),
                Some(Pool::AfterWork) => Box::new(AfterWork(side.task)),
            };
            sides.push(side);
        }
        let expected = expected(plan, self.stream)?;
        for side in &mut sides {
            side.before = side.outcome()?.to_string();
            check(plan, side, &side.before, &expected)?;
            let is_single = plan.pool.is_some_and(Pool::is_single);
            side.calibrate(if is_single { Duration::ZERO } else { SAMPLE })?;
        }
        // As many for all, as the first call of a sample finds caches that another side has left.
        let calls = sides.iter().map(|side| side.calls).max().unwrap_or(1);
        sides.iter_mut().for_each(|side| side.calls = calls);
        let busy = if plan.busy { Some(Busy::start(self.machine.cpus)?) } else { None };
        let turns = self.turns(&mut sides, budget)?;
        let mut order: Vec<usize> = (0..sides.len()).collect();
        // Each sample continues where the last one ended, whosever it was: no side finds in a cache what
        // another has just read, and what it does find does not depend on which side it is.
        let mut at = 0;
        for _ in 0..turns {
            self.random.shuffle(&mut order);
            for &side in &order {
                let side = &mut sides[side];
                side.task.begin(at);
                let time = side.time()?;
                side.samples.push(time);
                at += side.calls;
            }
        }
        drop(busy);
        let mut row = Row {
            id: plan.id.clone(),
            class: plan.work.class().to_owned(),
            work: plan.work.clone(),
            varies: plan.varies,
            bytes: plan.work.bytes(),
            busy: plan.busy,
            pool: plan.pool,
            digests: [(Family::Blake3, expected.clone())].into(),
            sides: vec![],
            ratios: vec![],
        };
        for mut side in sides {
            let after = side.outcome()?.to_string();
            check(plan, &side, &after, &expected)?;
            row.sides.push(side.finish(row.bytes, after));
        }
        row.ratios = row.ratios_of_samples(self.settings.confidence);
        // The next row starts from the kernel of the library.
        let _ = treewide::kernel::force(&self.kernel);
        Ok(row)
    }

    fn contender(&mut self, plan: &Plan, spec: &Spec, name: String) -> Result<Contender, Refusal> {
        if let Work::Program { bytes } = plan.work {
            return self.program(spec, name, bytes);
        }
        // The device and the CPU use the same file, in this process.
        let path = match plan.work {
            Work::Device { bytes, place: Place::File } => Some(self.file_of(bytes)?),
            _ => None,
        };
        #[cfg(feature = "gpu")]
        if let (Work::Device { bytes, place }, Some(device)) = (&plan.work, &self.device)
            && spec.engine == device.backend().to_string()
        {
            let host = &self.stream[..*bytes as usize];
            let task = device::task(device, *place, host, path.as_deref());
            let task = task.map_err(|error| Refusal::Reason(format!("{error:#}")))?;
            let (engine, variant) = (spec.engine.clone(), device.name().to_owned());
            return Ok(Contender::new(engine, spec, name, variant, task));
        }
        let engine = engine::find(&spec.engine)?;
        let kernel = match &spec.kernel {
            Some(kernel) => Some(kernel.clone()),
            None if engine.name == "treewide" => Some(self.kernel.clone()),
            None => None,
        };
        if let Some(kernel) = &kernel {
            (engine.force)(kernel).map_err(|error| Refusal::Reason(error.to_string()))?;
        }
        let variant = (engine.variant)();
        let threads = spec.threads();
        let task = match path {
            Some(path) if engine.name == "treewide" => Some(file::in_this_process(path, threads)),
            _ => (engine.task)(&plan.work, self.stream, threads > 1),
        };
        let task = task.ok_or_else(|| {
            let how = if threads > 1 { format!(" on {threads} threads") } else { String::new() };
            Refusal::Reason(format!("{} does not do this{how}", engine.name))
        })?;
        let task = match self.pool(threads, plan.varies)? {
            Some(pool) => Box::new(InPool { pool, task }),
            None => task,
        };
        let task: Box<dyn Task> = match kernel {
            Some(kernel) => Box::new(Forced { engine, kernel, task }),
            None => task,
        };
        Ok(Contender::new(engine.name.to_owned(), spec, name, variant, task))
    }

    fn program(&mut self, spec: &Spec, name: String, bytes: u64) -> Result<Contender, Refusal> {
        let path = self.file_of(bytes)?;
        let (task, version) = file::task(spec, &path).map_err(Refusal::Reason)?;
        Ok(Contender::new(spec.engine.clone(), spec, name, version, task))
    }

    /// The file of `bytes` bytes; only one exists at a time.
    fn file_of(&mut self, bytes: u64) -> Result<PathBuf> {
        let content = &self.stream(bytes)[..bytes as usize];
        if self.file.as_ref().is_none_or(|file| file.len() != bytes) {
            self.file = None;
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => FileOnDisk::create(content)?,
        };
        Ok(self.file.insert(file).path().to_owned())
    }

    /// The threads of a side. As many threads as CPUs are the global pool, called from outside as programs do. Another
    /// number has a pool of its own, and the whole sample is taken inside it.
    fn pool(&mut self, threads: usize, varies: Varies) -> Result<Option<Arc<ThreadPool>>, Refusal> {
        let cpus = self.machine.cpus as usize;
        if threads > cpus && varies != Varies::Threads {
            let reason = format!("{threads} threads on a machine of {cpus} CPUs");
            return Err(Refusal::Reason(reason));
        }
        // RAYON_NUM_THREADS may have given the global pool another number.
        if threads == 1 || threads == cpus && threads == rayon::current_num_threads() {
            return Ok(None);
        }
        if let Some((_, pool)) = self.pools.iter().find(|(count, _)| *count == threads) {
            return Ok(Some(pool.clone()));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.map_err(|error| Refusal::Fatal(error.into()))?);
        self.pools.push((threads, pool.clone()));
        Ok(Some(pool))
    }

    /// As many samples as the budget has time for.
    fn turns(&self, sides: &mut [Contender], budget: Duration) -> Result<usize> {
        let turn: u64 = sides.iter_mut().map(Contender::time).sum::<Result<u64>>()?;
        let turns = budget.as_nanos() as u64 / turn.max(1);
        Ok((turns as usize).clamp(MIN_SAMPLES, self.max_samples) | 1)
    }

    /// The report of all rows.
    pub(crate) fn finish(self) -> Report {
        self.finish_with(vec![])
    }

    /// The report of all rows, with the bars of a gate.
    pub(crate) fn finish_with(self, bars: Vec<Bar>) -> Report {
        let mut report = Report {
            schema: SCHEMA.to_owned(),
            command: self.command,
            started: self.clock.started(),
            seconds: self.clock.seconds(),
            build: machine::build(),
            machine: self.machine,
            kernel: self.kernel,
            memory: machine::memory(),
            settings: self.settings,
            rows: self.rows,
            refused: self.refused,
            bars,
            seal: String::new(),
        };
        report.finish();
        report
    }
}

impl Contender {
    fn new(
        engine: String,
        spec: &Spec,
        name: String,
        variant: String,
        task: Box<dyn Task>,
    ) -> Self {
        let (spec, samples, before) = (spec.clone(), vec![], String::new());
        Self { engine, spec, name, variant, task, calls: 1, samples, before }
    }

    fn time(&mut self) -> Result<u64> {
        let time = self.task.time(self.calls).with_context(|| self.name.clone())?;
        Ok(time.as_nanos() as u64)
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        self.task.outcome().with_context(|| self.name.clone())
    }

    /// Finds how many calls make a sample, and warms up.
    fn calibrate(&mut self, sample: Duration) -> Result<()> {
        loop {
            let time = Duration::from_nanos(self.time()?);
            if time >= sample / 2 {
                let calls = sample.as_nanos() as u64 * self.calls / time.as_nanos().max(1) as u64;
                self.calls = calls.max(1);
                return Ok(());
            }
            self.calls *= 2;
        }
    }

    fn finish(self, bytes: u64, after: String) -> Side {
        let mut side = Side {
            name: self.name,
            engine: self.engine,
            family: Family::Blake3,
            variant: self.variant,
            threads: self.spec.threads() as u32,
            calls: self.calls,
            samples_ns: self.samples,
            digest_before: self.before,
            digest_after: after,
            stats: Stats::default(),
        };
        side.stats = Stats::of(&side.times(), bytes, 0.95);
        side
    }
}

/// The digest that the sides must return.
fn expected(plan: &Plan, stream: &'static [u8]) -> Result<String, Refusal> {
    let task = (ORACLE.task)(&plan.work, stream, false);
    let mut task = task.ok_or_else(|| {
        Refusal::Reason(format!("{} cannot tell the right digest of this", ORACLE.name))
    })?;
    Ok(task.outcome()?.to_string())
}

fn check(plan: &Plan, side: &Contender, digest: &str, expected: &str) -> Result<()> {
    if digest != expected {
        bail!(
            "WRONG DIGEST: {} of '{}' gives {digest}, not what the oracle gives",
            side.name,
            plan.id
        );
    }
    Ok(())
}
