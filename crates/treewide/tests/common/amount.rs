//! How much to test, and how much was tested.

/// How much to test: `TREEWIDE_TEST_SCALE`, 1 if it is not set. Under an emulator, which is ten to
/// fifty times slower, 0.1 still runs every test.
fn scale() -> f64 {
    match std::env::var("TREEWIDE_TEST_SCALE") {
        Ok(text) => text.parse().expect("TREEWIDE_TEST_SCALE must be a number"),
        Err(_) => 1.0,
    }
}

/// The number of random cases to run where `full` is the number at scale 1.
pub(crate) fn rounds(full: usize) -> usize {
    (full as f64 * scale()).ceil() as usize
}

/// All of `items`, or below scale 1 an even sample of them, which says so.
pub(crate) fn sample<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let items: Vec<T> = items.into_iter().collect();
    let (all, keep) = (items.len(), rounds(items.len()).min(items.len()));
    if keep < all {
        println!("sampled: {keep} of {all}");
    }
    // Item i is kept where the running share passes a whole number.
    let kept = |i: usize| i * keep / all != (i + 1) * keep / all;
    items.into_iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, item)| item).collect()
}

/// Counts cases, and prints how many there were when the test is done.
pub(crate) struct Tally {
    name: String,
    cases: usize,
}

impl Tally {
    pub(crate) fn new(name: impl Into<String>) -> Tally {
        Tally { name: name.into(), cases: 0 }
    }

    pub(crate) fn case(&mut self) {
        self.cases += 1;
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        println!("{}: {} cases", self.name, self.cases);
    }
}
