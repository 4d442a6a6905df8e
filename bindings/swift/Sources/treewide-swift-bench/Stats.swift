import Foundation

/// Medians and their intervals, as `treewide-bench` computes them: its `stats.rs` says why. Its validator computes all of them
/// again and compares them digit by digit.
enum Stats {
    /// The fewest samples of a 95th percentile.
    static let fewestForP95 = 61

    struct Estimate {
        let median, low, high: Double
    }

    /// The median of an odd number of samples, and its interval.
    static func estimate(_ samples: [Double], _ confidence: Double) -> Estimate {
        let sorted = samples.sorted()
        let count = sorted.count
        func rank(_ probability: Double) -> Int {
            var (below, enough) = (0, count)
            while below + 1 < enough {
                let k = (below + enough) / 2
                if medianAtMost(count, k) >= probability { enough = k } else { below = k }
            }
            return enough
        }
        let tail = (1 - confidence) / 2
        return Estimate(
            median: sorted[count / 2], low: sorted[rank(tail) - 1], high: sorted[rank(1 - tail) - 1])
    }

    /// The probability that the median of a resample is at most the `k`-th smallest of `n` samples.
    private static func medianAtMost(_ n: Int, _ k: Int) -> Double {
        if k >= n { return 1 }
        let p = Double(k) / Double(n)
        var logarithm = Double(n) * log(1 - p)
        var below = 0.0
        for hits in 0..<(n + 1) / 2 {
            below += exp(logarithm)
            logarithm += log(Double(n - hits) / Double(hits + 1)) + log(p) - log(1 - p)
        }
        return min(max(1 - below, 0), 1)
    }

    /// The statistics of the times of one side.
    static func json(_ times: [Double], bytes: UInt64, confidence: Double) -> JSON {
        let it = estimate(times, confidence)
        let sorted = times.sorted()
        let p95 = sorted.count < fewestForP95 ? nil : sorted[(sorted.count * 95 + 99) / 100 - 1]
        return .object([
            "min": .number(sorted[0]),
            "median": .number(it.median),
            "low": .number(it.low),
            "high": .number(it.high),
            "p95": p95.map { .number($0) } ?? .null,
            "max": .number(sorted[sorted.count - 1]),
            "bytes_per_second": .number(Double(bytes) / it.median * 1e9),
        ])
    }
}
