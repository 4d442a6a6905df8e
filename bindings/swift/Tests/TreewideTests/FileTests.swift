import Foundation
import Treewide
import XCTest

final class FileTests: XCTestCase {
    static let strategies = BLAKE3File.Strategy.allCases

    /// Counts bytes from any threads.
    final class Counter: @unchecked Sendable {
        private let lock = NSLock()
        private var bytes: UInt64 = 0

        func add(_ more: UInt64) { lock.withLock { bytes += more } }

        var total: UInt64 { lock.withLock { bytes } }
    }

    func testStrategies() async throws {
        let folder = try Folder()
        for count in [0, 1, 5000, 1 << 20, 3_000_001] {
            let bytes = pattern(count)
            let path = try folder.file("ü \(count)", bytes)
            for (mode, _) in try modes() {
                let expected = BLAKE3.hash(bytes, mode: mode)
                for strategy in Self.strategies {
                    let counter = Counter()
                    let digest = try BLAKE3File.hash(
                        path: path, strategy: strategy, mode: mode, dropCache: count == 5000,
                        progress: { counter.add($0) })
                    XCTAssertEqual(digest, expected, "\(count) bytes, \(strategy)")
                    XCTAssertEqual(counter.total, UInt64(count), "\(strategy)")
                    for threads in [nil, 1, 2] {
                        let again = try await BLAKE3File.hashAsync(
                            path: path, strategy: strategy, threads: threads, mode: mode)
                        XCTAssertEqual(again, expected, "\(count) bytes, \(strategy)")
                    }
                }
            }
            XCTAssertEqual(try BLAKE3File.hash(path: path), BLAKE3.hash(bytes))
        }
    }

    func testErrorsNameThePath() async throws {
        let folder = try Folder()
        // C would hash the file before the zero.
        let behindZero = try folder.file("a", [1]) + "\0b"
        for (path, number) in [(folder.path("absent"), ENOENT), (folder.url.path, EISDIR), (behindZero, EINVAL)] {
            XCTAssertThrowsError(try BLAKE3File.hash(path: path)) {
                guard case BLAKE3Error.file(path, number, _) = $0 else { return XCTFail("\($0)") }
                XCTAssertTrue("\($0)".hasPrefix(path + ": "), "\($0)")
                XCTAssertEqual($0.localizedDescription, "\($0)")
            }
            do {
                _ = try await BLAKE3File.hashAsync(path: path)
                XCTFail(path)
            } catch BLAKE3Error.file(let named, number, _) {
                XCTAssertEqual(named, path)
            }
        }
    }

    func testAFileThatShrinks() throws {
        let folder = try Folder()
        for strategy in Self.strategies {
            // Longer than all threads may have read before one of them was counted, and than a window of a mapping.
            let path = try folder.zeros("shrinks", 600 << 20)
            let shrink: @Sendable (UInt64) -> Void = { _ in truncate(path, 1000) }
            XCTAssertThrowsError(
                try BLAKE3File.hash(path: path, strategy: strategy, progress: shrink), "\(strategy)"
            ) {
                XCTAssertEqual($0 as? BLAKE3Error, .fileShrank(path: path), "\(strategy)")
                XCTAssertTrue("\($0)".contains("became shorter"), "\($0)")
            }
        }
    }

    /// No more than a tile of each thread is hashed after the task was cancelled.
    func testCancellation() async throws {
        let folder = try Folder()
        let path = try folder.zeros("long", 8 << 30)
        for strategy in Self.strategies {
            let counter = Counter()
            let isCancelled = DispatchSemaphore(value: 0)
            let (started, start) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await BLAKE3File.hashAsync(
                    path: path, strategy: strategy,
                    progress: {
                        counter.add($0)
                        start.yield()
                        isCancelled.wait()
                        isCancelled.signal()
                    })
            }
            for await _ in started { break }
            task.cancel()
            isCancelled.signal()
            do {
                _ = try await task.value
                XCTFail("\(strategy) was not cancelled")
            } catch is CancellationError {}
            let most = UInt64(ProcessInfo.processInfo.activeProcessorCount + 1) * (4 << 20)
            XCTAssertTrue((1...most).contains(counter.total), "\(strategy): \(counter.total) bytes")
        }
        // Before it began.
        let task = Task {
            await Task.yield()
            while !Task.isCancelled { await Task.yield() }
            return try await BLAKE3File.hashAsync(path: path)
        }
        task.cancel()
        do {
            _ = try await task.value
            XCTFail("was not cancelled")
        } catch is CancellationError {}
    }

    func testAPipe() async throws {
        let folder = try Folder()
        let path = folder.path("pipe")
        XCTAssertEqual(mkfifo(path, 0o600), 0)
        let bytes = pattern(200_000)
        async let digest = BLAKE3File.hashAsync(path: path)
        let url = URL(fileURLWithPath: path)
        try await Task.detached {
            let handle = try FileHandle(forWritingTo: url)
            try handle.write(contentsOf: bytes)
            try handle.close()
        }.value
        let result = try await digest
        XCTAssertEqual(result, BLAKE3.hash(bytes))
        // A pipe without a writer is given up with its task.
        let task = Task { try await BLAKE3File.hashAsync(path: path) }
        task.cancel()
        do {
            _ = try await task.value
            XCTFail("was not cancelled")
        } catch is CancellationError {}
    }
}
