// Measures the Swift package next to the C functions: treewide-swift-bench [MILLISECONDS], the time for a row.
//
// Prints samples as lines of JSON, which `treewide-bench report -` judges.

import CTreewide
import Foundation
import Treewide
import TreewideGPU

struct Line: Encodable {
    let name: String
    let engine: String
    let bytes: Int
    let calls: Int
    var samples: [UInt64] = []
}

typealias Work = () throws -> Void

/// Keeps the compiler from leaving out what is measured.
@inline(never) func keep<T>(_ value: borrowing T) {}

func nanoseconds(_ calls: Int, _ work: Work) rethrows -> UInt64 {
    let start = DispatchTime.now().uptimeNanoseconds
    for _ in 0..<calls { try work() }
    return max(DispatchTime.now().uptimeNanoseconds - start, 1)
}

/// Measures engines in turns. The engine that begins changes from turn to turn.
func measure(_ budget: Int, _ name: String, _ bytes: Int, _ engines: [(name: String, work: Work)]) throws {
    // Samples of half a millisecond or more, where the clock does not count.
    let once = try engines.map { try nanoseconds(10, $0.work) / 10 + 1 }.max() ?? 1
    let calls = max(1, Int(500_000 / once))
    var lines = engines.map { Line(name: name, engine: $0.name, bytes: bytes, calls: calls) }
    var (spent, turn) = (UInt64(0), 0)
    while turn < 15 || turn % 2 == 0 || (spent < UInt64(budget) * 1_000_000 && turn < 301) {
        for i in engines.indices.map({ ($0 + turn) % engines.count }) {
            lines[i].samples.append(try nanoseconds(calls, engines[i].work))
            spent += lines[i].samples[turn]
        }
        turn += 1
    }
    for line in lines { print(String(decoding: try JSONEncoder().encode(line), as: UTF8.self)) }
}

func measureAll(_ budget: Int, _ file: URL) throws {
    func row(_ name: String, _ bytes: Int, _ engines: [(String, Work)]) throws {
        try measure(budget, name, bytes, engines)
    }
    try print(String(decoding: JSONEncoder().encode(["about": "Swift, \(BLAKE3.version), \(BLAKE3.kernel)"]), as: UTF8.self))
    let out = UnsafeMutablePointer<UInt8>.allocate(capacity: 32 * 10_000)
    defer { out.deallocate() }
    let inputs = [0, 64, 1 << 10, 1 << 14, 1 << 20, 1 << 24].map { [UInt8](repeating: 7, count: $0) }
    for input in inputs {
        let data = Data(input)
        try row("one-shot \(input.count) B", input.count, [
            ("c", { treewide_hash(input, input.count, out) }),
            ("swift", { keep(BLAKE3.hash(input)) }),
            ("swift:data", { keep(BLAKE3.hash(data)) }),
        ])
    }
    for input in inputs {
        try row("hasher \(input.count) B", input.count, [
            ("c", {
                var hasher = treewide_swift_hasher(nil)
                treewide_update(&hasher, input, input.count)
                treewide_finalize(&hasher, 0, out, 32)
            }),
            ("swift", {
                var hasher = BLAKE3.Hasher()
                hasher.update(input)
                keep(hasher.finalize())
            }),
        ])
    }
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
    defer { input.deallocate() }
    for piece in [16, 64, 1000, 4096] {
        let pieces = stride(from: 0, to: input.count - piece, by: piece).map {
            UnsafeRawBufferPointer(rebasing: input[$0..<$0 + piece])
        }
        try row("update \(piece) B", pieces.count * piece, [
            ("c", {
                let stream = treewide_stream_new(nil)
                for it in pieces { treewide_stream_update(stream, it.baseAddress, it.count) }
                treewide_stream_finalize(stream, 0, out, 32)
                treewide_stream_free(stream)
            }),
            ("swift", {
                var hasher = BLAKE3.Hasher()
                for it in pieces { hasher.update(bufferPointer: it) }
                keep(hasher.finalize())
            }),
            ("c:hasher", {
                var hasher = treewide_swift_hasher(nil)
                for it in pieces { treewide_update(&hasher, it.baseAddress, it.count) }
                treewide_finalize(&hasher, 0, out, 32)
            }),
        ])
    }
    for input in inputs {
        try Data(input).write(to: file)
        try row("file \(input.count) B", input.count, BLAKE3File.Strategy.allCases.map { strategy in
            ("\(strategy)", { keep(try BLAKE3File.hash(path: file.path, strategy: strategy)) })
        })
    }
    for count in [32, 200, 4096] {
        let inputs = (0..<10_000).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: count) }
        let (packed, offsets) = (inputs.flatMap { $0 }, (0...10_000).map { UInt64($0 * count) })
        try row("batch 10000 x \(count) B", packed.count, [
            ("c", { keep(treewide_hash_packed(nil, packed, packed.count, offsets, 10_000, out)) }),
            ("swift:packed", { keep(try BLAKE3.hashMany(packed: packed, offsets: offsets)) }),
            ("swift", { keep(BLAKE3.hashMany(inputs)) }),
            ("swift:loop", { keep(inputs.map { BLAKE3.hash($0) }) }),
        ])
    }
    for device in BLAKE3GPU.devices() where device.problem == nil {
        let context = try BLAKE3GPU.makeContext(device: device)
        let buffer = try context.makeBuffer(input: Data(count: 1 << 20))
        try row("\(device.backend) \(device.index), \(device.name)", 1 << 20, [
            ("resident", { keep(try buffer.hash()) }),
            ("staged", { keep(try context.hash(input: Data(count: 1 << 20), policy: .gpu)) }),
        ])
    }
}

let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
defer { try? FileManager.default.removeItem(at: file) }
try measureAll(CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 300, file)
