import Foundation
import TreewideGPU
import Treewide
import XCTest

/// On the twin, which is always there, and on every device that the drivers find. TREEWIDE_TEST_BACKEND=wgpu makes it an error
/// if there is none of these.
final class GPUTests: XCTestCase {
    static let devices: [BLAKE3GPU.Device] =
        [.twin] + BLAKE3GPU.devices().filter { $0.problem == nil }

    func contexts() throws -> [BLAKE3GPU.Context] {
        try Self.devices.map { try BLAKE3GPU.makeContext(device: $0) }
    }

    func pattern(_ count: Int) -> Data { Data((0..<count).map { UInt8($0 % 251) }) }

    func testDevices() throws {
        for device in BLAKE3GPU.devices() {
            print("\(device.backend) \(device.index): \(device.name), \(device.problem ?? "can be used")")
            XCTAssertFalse(device.name.isEmpty)
            if device.problem != nil {
                XCTAssertThrowsError(try BLAKE3GPU.makeContext(device: device))
            }
        }
        if let wanted = ProcessInfo.processInfo.environment["TREEWIDE_TEST_BACKEND"] {
            XCTAssertTrue(Self.devices.contains { "\($0.backend)" == wanted }, "there is no \(wanted) device")
        } else if Self.devices.count == 1 {
            print("SKIPPED: devices other than the twin: the drivers of this machine find none")
        }
        if !BLAKE3GPU.isAvailable {
            XCTAssertThrowsError(try BLAKE3GPU.makeContext()) {
                XCTAssertTrue("\($0)".hasPrefix("there is no GPU that can be used"), "\($0)")
            }
        }
    }

    func testBytesOfTheHost() async throws {
        let key = try BLAKE3.Mode.keyed([UInt8](repeating: 7, count: 32))
        for context in try contexts() {
            for count in [0, 1, 1024, 300_000, 3_000_001] {
                let input = pattern(count)
                for mode in [.plain, key] {
                    let expected = BLAKE3.hash(input, mode: mode)
                    for policy: BLAKE3GPU.ExecutionPolicy in [.automatic, .cpu, .gpu] {
                        let digest = try context.hash(input: input, policy: policy, mode: mode)
                        XCTAssertEqual(digest, expected, "\(context.device.name), \(count), \(policy)")
                    }
                    let digest = try await context.hashAsync(input: input, policy: .gpu, mode: mode)
                    XCTAssertEqual(digest, expected)
                    do {
                        let wrapped = try context.hash(
                            input: input, policy: .gpu, place: .wrapped, mode: mode)
                        XCTAssertEqual(wrapped, expected)
                    } catch BLAKE3Error.gpu(nil, let reason) where context.device.backend == .wgpu {
                        XCTAssertTrue(reason.contains("cannot be pinned"), reason)
                    }
                }
            }
        }
    }

    /// Memory that only CUDA can pin shows whether the device was asked.
    func testMinimumGPUByteCount() throws {
        guard let device = Self.devices.first(where: { $0.backend == .wgpu }) else {
            return print("SKIPPED: minimumGPUByteCount: the drivers of this machine find no wgpu device")
        }
        let unmeasured = try BLAKE3GPU.makeContext(device: device)
        XCTAssertEqual(unmeasured.minimumGPUByteCount, unmeasured.isUnified ? 16 << 20 : .max)
        let input = pattern(300_000)
        for (minimum, isUsed) in [(0, true), (300_000, true), (300_001, false), (Int.max, false)] {
            let context = try BLAKE3GPU.makeContext(device: device, minimumGPUByteCount: minimum)
            XCTAssertEqual(context.minimumGPUByteCount, minimum)
            let digest = try? context.hash(input: input, place: .wrapped)
            XCTAssertEqual(digest, isUsed ? nil : BLAKE3.hash(input), "\(minimum)")
        }
    }

    func testMemoryOfTheDevice() throws {
        for context in try contexts() {
            let input = pattern(300_000)
            let buffer = try context.makeBuffer(input: input)
            XCTAssertEqual(buffer.count, input.count)
            XCTAssertEqual(try buffer.hash(), BLAKE3.hash(input))
            for range in [0..<0, 1..<1, 3..<200_002, 299_999..<300_000] {
                XCTAssertEqual(try buffer.hash(range: range), BLAKE3.hash(input[range]), "\(range)")
            }
            let mode = BLAKE3.Mode.deriveKey(context: "treewide 2026-11-25 tests of Swift")
            XCTAssertEqual(try buffer.hash(mode: mode), BLAKE3.hash(input, mode: mode))
            try buffer.replaceContents(with: Data(repeating: 9, count: 10), at: 4)
            let changed = input[..<4] + Data(repeating: 9, count: 10) + input[14...]
            XCTAssertEqual(try buffer.hash(), BLAKE3.hash(changed))
            XCTAssertThrowsError(try buffer.hash(range: 0..<300_001))
            XCTAssertThrowsError(try buffer.replaceContents(with: input, at: 4))
            XCTAssertThrowsError(try buffer.replaceContents(with: Data([1]), at: 3))
            XCTAssertThrowsError(try buffer.replaceContents(with: Data([1]), at: -4))
            for range in [-4..<4, Int.min..<Int.max] { XCTAssertThrowsError(try buffer.hash(range: range)) }
            XCTAssertEqual(try buffer.hash(), BLAKE3.hash(changed), "what failed wrote nothing")
            XCTAssertThrowsError(try context.makeBuffer(count: -1))
        }
    }

    func testPipeline() async throws {
        for context in try contexts() {
            let inputs = (0..<20).map { pattern($0 * 1001) }
            for inFlight in [1, 3] {
                let pipeline = try context.makePipeline(inputCapacity: 20_000, inFlightCount: inFlight)
                XCTAssertEqual(try pipeline.hash(inputs), inputs.map { BLAKE3.hash($0) })
                XCTAssertNil(try pipeline.pop())
                XCTAssertNil(try pipeline.push(inputs[3]))
                XCTAssertThrowsError(try pipeline.push(pattern(20_001)))
                XCTAssertEqual(try pipeline.pop(), BLAKE3.hash(inputs[3]))
                // Neither an input that fails nor one that was pushed before mixes with other digests.
                XCTAssertNil(try pipeline.push(inputs[5]))
                XCTAssertThrowsError(try pipeline.hash([inputs[1], inputs[2], pattern(20_001)]))
                XCTAssertEqual(try pipeline.hash([inputs[6]]), [BLAKE3.hash(inputs[6])])
                XCTAssertEqual(try pipeline.pop(), BLAKE3.hash(inputs[5]))
                XCTAssertNil(try pipeline.pop())
                let areRight = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for i in 0..<4 {
                        group.addTask {
                            let part = inputs[i * 4..<(i + 1) * 4]
                            return try pipeline.hash(part) == part.map { BLAKE3.hash($0) }
                        }
                    }
                    return try await group.allSatisfy { $0 }
                }
                XCTAssertTrue(areRight)
                // On its way when the pipeline ends.
                XCTAssertNil(try pipeline.push(inputs[4]))
            }
            XCTAssertThrowsError(try context.makePipeline(inputCapacity: 1, inFlightCount: 0))
            XCTAssertThrowsError(try context.makePipeline(inputCapacity: -1))
        }
    }

    func testFiles() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("file")
        for context in try contexts() {
            for count in [0, 5000, 9_000_000] {
                let input = pattern(count)
                try input.write(to: url)
                let digest = try BLAKE3File.hash(path: url.path, strategy: .gpuStaged, context: context)
                XCTAssertEqual(digest, BLAKE3.hash(input), "\(context.device.name), \(count)")
            }
            // Shrinks after the first 4 MiB, and is longer than all buffers.
            let path = url.path
            XCTAssertEqual(truncate(path, 1 << 40), 0)
            XCTAssertThrowsError(
                try BLAKE3File.hash(
                    path: path, strategy: .gpuStaged, context: context,
                    progress: { _ in truncate(path, 1000) })
            ) {
                XCTAssertEqual($0 as? BLAKE3Error, .fileShrank(path: path))
            }
            XCTAssertThrowsError(
                try BLAKE3File.hash(path: path + "-absent", strategy: .gpuStaged, context: context)
            ) {
                XCTAssertTrue("\($0)".hasPrefix(path + "-absent: "), "\($0)")
            }
            XCTAssertEqual(truncate(path, 1 << 40), 0)
            let (started, start) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await BLAKE3File.hashAsync(
                    path: path, strategy: .gpuStaged, context: context,
                    progress: { _ in start.yield() })
            }
            // A TiB would take minutes.
            for await _ in started { break }
            task.cancel()
            do {
                _ = try await task.value
                XCTFail("was not cancelled")
            } catch is CancellationError {}
        }
        if !BLAKE3GPU.isAvailable {
            XCTAssertThrowsError(try BLAKE3File.hash(path: url.path, strategy: .gpuStaged)) {
                XCTAssertTrue("\($0)".hasPrefix(url.path + ": there is no GPU"), "\($0)")
            }
        }
    }
}
