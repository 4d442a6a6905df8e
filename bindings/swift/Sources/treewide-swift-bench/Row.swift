import Foundation
import Treewide

/// The bytes that all inputs come from (SplitMix64), so that a validator can make them again.
struct Stream {
    static let seed: UInt64 = 1
    let bytes: [UInt8]

    init(_ count: Int) {
        var state = Self.seed
        bytes = [UInt8](unsafeUninitializedCapacity: count + 8) { bytes, filled in
            for at in stride(from: 0, to: count, by: 8) {
                state &+= 0x9e37_79b9_7f4a_7c15
                var z = state
                z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
                z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
                z ^= z >> 31
                for byte in 0..<8 { bytes[at + byte] = UInt8(truncatingIfNeeded: z >> (8 * byte)) }
            }
            filled = count
        }
    }
}

/// One way of doing the work of a row.
struct Side {
    let name: String
    let engine: String
    var variant = BLAKE3.kernel
    var threads = 1
    /// Makes this many calls.
    let time: (Int) throws -> Void
    /// The digests of one call, one after the other.
    let outcome: () throws -> [UInt8]
}

/// A row of the report: several sides that do the same work, alternately.
struct Row {
    let id: String
    let timingClass: String
    let work: [String: JSON]
    let varies: String
    let bytes: UInt64
    let sides: [Side]

    /// What was measured.
    struct Measured {
        let row: Row
        let calls: Int
        let samples: [[UInt64]]
        let digests: [(before: String, after: String)]
    }

    static func nanoseconds(_ work: () throws -> Void) rethrows -> UInt64 {
        let start = DispatchTime.now().uptimeNanoseconds
        try work()
        return max(DispatchTime.now().uptimeNanoseconds - start, 1)
    }

    /// Measures for about `budget` milliseconds, and at least 15 turns.
    func measure(budget: Int) throws -> Measured {
        let before = try sides.map { BLAKE3.hash(try $0.outcome()).hex }
        for side in sides { try side.time(1) }
        // Samples of at least half a millisecond, where the clock does not count.
        let once = try sides.map { side in try Self.nanoseconds { try side.time(1) } }.max() ?? 1
        var calls = 1
        if once < 500_000 {
            let ten = try sides.map { side in try Self.nanoseconds { try side.time(100) } }.max() ?? 1
            calls = max(1, Int(500_000 * 100 / ten))
        }
        var samples = sides.map { _ in [UInt64]() }
        let most = UInt64(budget) * 1_000_000
        var (spent, turn) = (UInt64(0), 0)
        while turn < 15 || turn % 2 == 0 || (spent < most && turn < 301) {
            // Who begins changes from turn to turn.
            for i in sides.indices {
                let at = (i + turn) % sides.count
                let sample = try Self.nanoseconds { try sides[at].time(calls) }
                samples[at].append(sample)
                spent += sample
            }
            turn += 1
        }
        let after = try sides.map { BLAKE3.hash(try $0.outcome()).hex }
        return Measured(
            row: self, calls: calls, samples: samples,
            digests: zip(before, after).map { (before: $0, after: $1) })
    }
}

extension Row.Measured {
    private func times(_ side: Int) -> [Double] { samples[side].map { Double($0) / Double(calls) } }

    func json(confidence: Double) -> JSON {
        let sides = row.sides.enumerated().map { i, side -> JSON in
            .object([
                "name": .text(side.name), "engine": .text(side.engine), "family": .text("blake3"),
                "variant": .text(side.variant), "threads": .integer(UInt64(side.threads)),
                "calls": .integer(UInt64(calls)), "samples_ns": .list(samples[i].map { .integer($0) }),
                "digest_before": .text(digests[i].before), "digest_after": .text(digests[i].after),
                "stats": Stats.json(times(i), bytes: row.bytes, confidence: confidence),
            ])
        }
        let first = times(0)
        let ratios = row.sides.indices.dropFirst().map { i -> JSON in
            let it = Stats.estimate(zip(times(i), first).map { $0 / $1 }, confidence)
            return .object([
                "of": .text(row.sides[i].name), "median": .number(it.median), "low": .number(it.low),
                "high": .number(it.high),
            ])
        }
        return .object([
            "id": .text(row.id), "class": .text(row.timingClass), "work": .object(row.work),
            "varies": .text(row.varies), "bytes": .integer(row.bytes), "busy": .bool(false),
            "digests": .object(["blake3": .text(digests[0].before)]), "sides": .list(sides),
            "ratios": .list(Array(ratios)),
        ])
    }

    /// Nanoseconds of a call of each side, for people.
    var line: String {
        let medians = row.sides.indices.map { Stats.estimate(times($0), 0.95).median }
        let sides = zip(row.sides, medians).map { side, median in
            let speed = Double(row.bytes) / median
            return "\(side.name) \(String(format: "%.1f", median)) ns (\(String(format: "%.2f", speed)) GB/s)"
        }
        return row.id + ": " + sides.joined(separator: ", ")
    }
}
