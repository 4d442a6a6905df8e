//! How many threads the user asks for by `RAYON_NUM_THREADS`.

use clap::Args;
use treewide_files::Options;

/// The threads that the variable asks for; `None` also for 0, which means the same as nothing.
pub(crate) fn asked_of_rayon() -> Option<usize> {
    std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|&threads| threads > 0)
}

/// Starts rayon's pool with a limit if `RAYON_NUM_THREADS` asks for more: starting the 65,535 threads that it
/// may ask for would keep the machine busy for minutes. Without that, the pool starts when it is needed.
pub(crate) fn limit_pool() -> Result<(), String> {
    let most = Options::most_useful_threads();
    if asked_of_rayon().is_none_or(|asked| asked <= most) {
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(most).build_global();
    pool.map_err(|error| {
        format!("cannot start {most} threads, as RAYON_NUM_THREADS is high: {error}")
    })
}

#[derive(Args)]
pub(crate) struct ThreadsArgs {
    /// The maximum number of threads to use
    #[arg(long, value_name = "NUM", help_heading = "Reading", hide_short_help = true)]
    threads: Option<usize>,
}

impl ThreadsArgs {
    /// The threads, if a number was asked for; else those of rayon's pool do.
    pub(crate) fn team(&self) -> anyhow::Result<Team> {
        let most = Options::most_useful_threads();
        let asked = self.threads.filter(|&threads| threads > 0).map(|asked| asked.min(most));
        let pool = asked.map(|asked| rayon::ThreadPoolBuilder::new().num_threads(asked).build());
        Ok(Team(pool.transpose()?))
    }
}

pub(crate) struct Team(Option<rayon::ThreadPool>);

impl Team {
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
