//! Samples as `treewide-bench report` reads them: dev/bench/README.md.

/// Prints a line that is shown above the tables.
pub(crate) fn about(text: &str) {
    println!(r#"{{"about":"{text}"}}"#);
}

/// What all engines of a row have in common.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: usize,
    /// Calls in a sample.
    pub(crate) calls: u64,
}

impl Row<'_> {
    /// Prints the nanoseconds of each sample of one engine.
    pub(crate) fn print(&self, engine: &str, samples: &[u64], bar: Option<f64>) {
        let Self { name, bytes, calls } = self;
        let bar = bar.map_or(String::new(), |bar| format!(r#","bar":{bar}"#));
        println!(
            r#"{{"name":"{name}","engine":"{engine}","bytes":{bytes},"calls":{calls},"samples":{samples:?}{bar}}}"#
        );
    }
}
