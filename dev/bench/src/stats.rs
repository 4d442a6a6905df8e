//! Medians and their confidence intervals.
//!
//! The interval of a median is the bootstrap interval (percentile method): the range of the medians of samples that are
//! drawn repeatedly, with replacement, from the samples. For a median this needs no drawing. The median of a resample is
//! at most the `k`-th smallest sample exactly if at least half of its draws are, and each draw is with probability
//! `k / n`:
//!
//! ```text
//! P(median* <= x(k)) = P(Binomial(n, k / n) >= (n + 1) / 2)        n odd
//! ```
//!
//! So the interval is the limit for infinitely many resamples, every computation gives the same, and a validator can
//! compare it digit by digit (B. Efron, *Nonparametric standard errors and confidence
//! intervals*, 1981, has the formula).

/// The least samples for an interval: fewer cannot reach the confidence that a table of many rows needs.
pub(crate) const MIN_SAMPLES: usize = 15;

/// The least samples for a 95th percentile: with fewer, hardly any sample is above it, and it would be the maximum.
pub(crate) const MIN_P95_SAMPLES: usize = 61;

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Returns the median of an odd number of samples, and its interval for `confidence` (0 to 1).
///
/// # Panics
/// If the number of samples is even.
pub(crate) fn estimate(samples: &[f64], confidence: f64) -> Estimate {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    assert!(n % 2 == 1, "an odd number of samples has a median");
    let tail = (1.0 - confidence) / 2.0;
    // The least k with at least that probability, which grows with k.
    let rank = |probability: f64| {
        let (mut below, mut enough) = (0, n);
        while below + 1 < enough {
            let k = (below + enough) / 2;
            if median_at_most(n, k) >= probability { enough = k } else { below = k }
        }
        enough
    };
    Estimate {
        median: sorted[n / 2],
        low: sorted[rank(tail) - 1],
        high: sorted[rank(1.0 - tail) - 1],
    }
}

/// The probability that the median of a resample is at most the `k`-th smallest of `n` samples.
fn median_at_most(n: usize, k: usize) -> f64 {
    if k >= n {
        return 1.0;
    }
    let (n_f, p) = (n as f64, k as f64 / n as f64);
    // The binomial probabilities from 0 up, by logarithms: (1 - p)^n alone may underflow.
    let mut log = n_f * (1.0 - p).ln();
    let mut below = 0.0;
    for hits in 0..n.div_ceil(2) {
        below += log.exp();
        log += ((n - hits) as f64 / (hits + 1) as f64).ln() + p.ln() - (1.0 - p).ln();
    }
    (1.0 - below).clamp(0.0, 1.0)
}

/// The 95th percentile by nearest rank, if there are enough samples for it.
pub(crate) fn p95(samples: &[f64]) -> Option<f64> {
    if samples.len() < MIN_P95_SAMPLES {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted[(sorted.len() * 95).div_ceil(100) - 1])
}

/// The confidence of each of `count` intervals, so that all of them together hold with confidence `whole` (Bonferroni).
pub(crate) fn each_of(count: usize, whole: f64) -> f64 {
    1.0 - (1.0 - whole) / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_resampling_bootstrap_agrees() {
        let mut random = Random::new(1);
        let samples: Vec<f64> = (0..41).map(|_| random.normal()).collect();
        let mut medians: Vec<f64> = (0..20_000)
            .map(|_| {
                let mut drawn: Vec<f64> = (0..41).map(|_| samples[random.below(41)]).collect();
                drawn.sort_by(f64::total_cmp);
                drawn[20]
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let exact = estimate(&samples, 0.95);
        // Both give a sample; they may be neighbours where the quantile falls between two.
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = |x: f64| sorted.iter().position(|&s| s == x).unwrap() as i64;
        assert!((rank(exact.low) - rank(medians[500])).abs() <= 1);
        assert!((rank(exact.high) - rank(medians[19_500])).abs() <= 1);
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut random = Random::new(2);
        let covered = (0..2000)
            .filter(|_| {
                let samples: Vec<f64> = (0..51).map(|_| random.normal()).collect();
                let it = estimate(&samples, 0.95);
                it.low <= 0.0 && 0.0 <= it.high
            })
            .count();
        assert!((1840..=1960).contains(&covered), "{covered} of 2000");
    }

    #[test]
    fn one_value_has_a_narrow_interval_and_more_confidence_a_wider_one() {
        let same = estimate(&[3.0; 15], 0.99);
        assert_eq!((same.median, same.low, same.high), (3.0, 3.0, 3.0));
        let samples: Vec<f64> = (0..101).map(f64::from).collect();
        let (narrow, wide) = (estimate(&samples, 0.9), estimate(&samples, 0.999));
        assert_eq!(narrow.median, 50.0);
        assert!(wide.low < narrow.low && narrow.low < 50.0);
        assert!(wide.high > narrow.high && narrow.high > 50.0);
    }

    #[test]
    fn few_samples_have_no_percentile() {
        assert_eq!(p95(&[1.0; 60]), None);
        let samples: Vec<f64> = (1..=101).map(f64::from).collect();
        assert_eq!(p95(&samples), Some(96.0));
    }
}
