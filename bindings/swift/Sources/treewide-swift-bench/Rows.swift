import CTreewide
import Foundation
import Treewide
import TreewideGPU

/// Keeps the compiler from leaving out what is measured.
@inline(never) func keep<T>(_ value: borrowing T) {}

let sizes: [(name: String, count: Int)] = [
    ("0 B", 0), ("64 B", 64), ("1 KiB", 1 << 10), ("16 KiB", 1 << 14), ("1 MiB", 1 << 20),
    ("16 MiB", 16 << 20),
]

/// Calls of the C function itself, with the same loop around it.
func c(_ name: String, _ outcome: [UInt8], _ call: @escaping (UnsafeMutablePointer<UInt8>) -> Void) -> Side {
    Side(
        name: name, engine: "treewide-c",
        time: { calls in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { out in
                guard let start = out.baseAddress else { return }
                for _ in 0..<calls {
                    call(start)
                    keep(start)
                }
            }
        }, outcome: { outcome })
}

/// One input, by one call of each side.
func oneShot(_ stream: Stream) -> [Row] {
    sizes.map { name, count in
        let input = Array(stream.bytes.prefix(count))
        let data = Data(input)
        let digest = BLAKE3.hashSerial(input).bytes
        return Row(
            id: "one-shot \(name)", timingClass: "one-shot",
            work: [
                "kind": .text("input"), "mode": .text("hash"), "feed": .text("one-shot"),
                "bytes": .integer(UInt64(count)), "buffers": .integer(1), "fill": .text("hot"),
            ], varies: "engine", bytes: UInt64(count),
            sides: [
                c("treewide-c", digest) { out in
                    input.withUnsafeBytes { treewide_hash(out, $0.baseAddress, $0.count) }
                },
                Side(
                    name: "treewide-swift", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(BLAKE3.hashSerial(input)) } },
                    outcome: { BLAKE3.hashSerial(input).bytes }),
                Side(
                    name: "treewide-swift:data", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(BLAKE3.hashSerial(data)) } },
                    outcome: { BLAKE3.hashSerial(data).bytes }),
            ])
    }
}

/// A new hasher with one update and a digest: what a value of 1,912 bytes costs.
func steps(_ stream: Stream) -> [Row] {
    sizes.prefix(4).map { name, count in
        let input = Array(stream.bytes.prefix(count))
        func digest() -> BLAKE3.Digest {
            var hasher = BLAKE3.Hasher()
            hasher.update(input)
            return hasher.finalize()
        }
        return Row(
            id: "hasher \(name)", timingClass: "steps",
            work: [
                "kind": .text("input"), "mode": .text("hash"), "feed": .text("finalize"),
                "bytes": .integer(UInt64(count)), "buffers": .integer(1), "fill": .text("hot"),
            ], varies: "engine", bytes: UInt64(count),
            sides: [
                c("treewide-c", digest().bytes) { out in
                    input.withUnsafeBytes { bytes in
                        withUnsafeTemporaryAllocation(of: treewide_hasher.self, capacity: 1) {
                            treewide_init($0.baseAddress, nil)
                            treewide_update($0.baseAddress, bytes.baseAddress, bytes.count)
                            treewide_finalize($0.baseAddress, 0, out, 32)
                        }
                    }
                },
                Side(
                    name: "treewide-swift", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(digest()) } }, outcome: { digest().bytes }),
            ])
    }
}

/// Updates of 16 KiB of a new hasher.
func streaming(_ stream: Stream) -> [Row] {
    sizes.suffix(2).map { name, count in
        let input = Array(stream.bytes.prefix(count))
        func digest() -> BLAKE3.Digest {
            var hasher = BLAKE3.Hasher()
            input.withUnsafeBytes { input in
                for at in stride(from: 0, to: count, by: 16 << 10) {
                    hasher.update(
                        bufferPointer: UnsafeRawBufferPointer(rebasing: input[at..<min(at + (16 << 10), count)]))
                }
            }
            return hasher.finalize()
        }
        return Row(
            id: "streaming \(name)", timingClass: "streaming",
            work: [
                "kind": .text("input"), "mode": .text("hash"), "feed": .text("streaming"),
                "bytes": .integer(UInt64(count)), "buffers": .integer(1), "fill": .text("hot"),
            ], varies: "nothing", bytes: UInt64(count),
            sides: [
                Side(
                    name: "treewide-swift", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(digest()) } }, outcome: { digest().bytes })
            ])
    }
}

/// Many blobs of one length.
func batches(_ stream: Stream) -> [Row] {
    [(10_000, 200), (10_000, 32), (1000, 4096)].map { blobs, count in
        let inputs = (0..<blobs).map { Array(stream.bytes[$0 * count..<($0 + 1) * count]) }
        let packed = Array(stream.bytes.prefix(blobs * count))
        let offsets = (0...blobs).map { UInt64($0 * count) }
        let outcome = BLAKE3.hashMany(inputs).flatMap(\.bytes)
        return Row(
            id: "batch \(blobs) x \(count) B", timingClass: "batch",
            work: [
                "kind": .text("batch"),
                "shape": .object([
                    "lengths": .text("equal"), "count": .integer(UInt64(blobs)), "bytes": .integer(UInt64(count)),
                ]),
            ], varies: "engine", bytes: UInt64(blobs * count),
            sides: [
                Side(
                    name: "treewide-c", engine: "treewide-c",
                    time: { calls in
                        var out = [UInt8](repeating: 0, count: 32 * blobs)
                        for _ in 0..<calls {
                            keep(treewide_hash_packed(nil, packed, packed.count, offsets, blobs, &out))
                        }
                    }, outcome: { outcome }),
                Side(
                    name: "treewide-swift:packed", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(try BLAKE3.hashMany(packed: packed, offsets: offsets)) } },
                    outcome: { try BLAKE3.hashMany(packed: packed, offsets: offsets).flatMap(\.bytes) }),
                Side(
                    name: "treewide-swift", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(BLAKE3.hashMany(inputs)) } },
                    outcome: { BLAKE3.hashMany(inputs).flatMap(\.bytes) }),
                Side(
                    name: "treewide-swift:loop", engine: "treewide-swift",
                    time: { for _ in 0..<$0 { keep(inputs.map { BLAKE3.hashSerial($0) }) } },
                    outcome: { inputs.flatMap { BLAKE3.hashSerial($0).bytes } }),
            ])
    }
}

/// A file in the page cache, by each strategy; those of one thread have a row of their own.
func files(_ stream: Stream, _ path: String) throws -> [Row] {
    let cpus = ProcessInfo.processInfo.activeProcessorCount
    let groups: [(String, Int, [(String, BLAKE3File.Strategy)])] = [
        ("one thread", 1, [("read", .read), ("memoryMapped", .memoryMapped)]),
        (
            "all threads", cpus,
            [
                ("automatic", .automatic), ("readOverlapped", .readOverlapped),
                ("positional", .positional), ("memoryMappedParallel", .memoryMappedParallel),
            ]
        ),
    ]
    return try sizes.suffix(2).flatMap { name, count in
        let file = path + "-\(count)"
        try Data(stream.bytes.prefix(count)).write(to: URL(fileURLWithPath: file))
        return groups.map { group, threads, strategies in
            Row(
                id: "file \(name), \(group)", timingClass: "file-warm",
                work: ["kind": .text("file"), "bytes": .integer(UInt64(count)), "cache": .text("warm")],
                varies: "strategy", bytes: UInt64(count),
                sides: strategies.map { name, strategy in
                    Side(
                        name: "treewide-swift:" + name, engine: "treewide-swift", variant: name,
                        threads: threads,
                        time: { for _ in 0..<$0 { keep(try BLAKE3File.hash(path: file, strategy: strategy)) } },
                        outcome: { try BLAKE3File.hash(path: file, strategy: strategy).bytes })
                })
        }
    }
}

/// A device, for each place where the bytes are when the clock starts.
func devices(_ stream: Stream, _ path: String, _ context: BLAKE3GPU.Context) throws -> [Row] {
    let (name, count) = (sizes[4].name, sizes[4].count)
    let input = Array(stream.bytes.prefix(count))
    let file = path + "-gpu"
    try Data(input).write(to: URL(fileURLWithPath: file))
    let buffer = try context.makeBuffer(input: input)
    let places: [(String, () throws -> BLAKE3.Digest)] = [
        ("resident", { try buffer.hash() }),
        ("staged", { try context.hash(input: input, policy: .gpu) }),
        ("wrapped", { try context.hash(input: input, policy: .gpu, place: .wrapped) }),
        ("end-to-end", { try context.makeBuffer(input: input).hash() }),
        ("file", { try BLAKE3File.hash(path: file, strategy: .gpuStaged, context: context) }),
    ]
    return places.map { place, digest in
        Row(
            id: "gpu \(place) \(name)", timingClass: place,
            work: ["kind": .text("device"), "bytes": .integer(UInt64(count)), "place": .text(place)],
            varies: "nothing", bytes: UInt64(count),
            sides: [
                Side(
                    name: "treewide-swift", engine: "treewide-gpu", variant: context.device.name,
                    time: { for _ in 0..<$0 { keep(try digest()) } }, outcome: { try digest().bytes })
            ])
    }
}
