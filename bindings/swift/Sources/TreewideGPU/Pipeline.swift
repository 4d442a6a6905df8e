import CTreewideGPU
import Foundation
import Treewide

extension BLAKE3GPU {
    /// Hashes inputs as they come, with several in flight, for example the requests of a server. Digests come in the order of the
    /// inputs. All memory is allocated once.
    ///
    /// Use ``push(_:)`` and ``pop()`` from one task at a time, or you cannot know to which input a digest belongs. Any number
    /// of tasks may call ``hash(_:)`` at once: each gets the digests of its inputs, one task after the other.
    public final class Pipeline: @unchecked Sendable {
        // The lock guards `ready` and the pipeline of `raw`.
        private let raw: OpaquePointer
        private let lock = NSLock()
        /// Digests of inputs that were pushed before `hash` was called, and not popped yet.
        private var ready: [BLAKE3.Digest] = []
        // Is closed after the pipeline.
        private let context: Context

        /// The most inputs in flight.
        public let inFlightCount: Int
        /// The most bytes of an input.
        public let inputCapacity: Int

        init(
            _ context: Context, inputCapacity: Int, inFlightCount: Int, mode: BLAKE3.Mode
        ) throws {
            guard inputCapacity >= 0, inFlightCount >= 1 else {
                let wrong = "\(inFlightCount) inputs of at most \(inputCapacity) bytes"
                let reason = "a pipeline has at least 1 input of 0 or more bytes in flight, not \(wrong)"
                throw BLAKE3Error.gpu(path: nil, reason: reason)
            }
            var made: OpaquePointer?
            let code = withUnsafePointer(to: mode.raw) {
                treewide_gpu_pipeline_new(
                    context.raw, $0, inFlightCount, UInt64(inputCapacity), &made)
            }
            guard code == 0, let made else { throw BLAKE3GPU.failure() }
            raw = made
            self.context = context
            self.inFlightCount = inFlightCount
            self.inputCapacity = inputCapacity
        }

        deinit {
            treewide_gpu_pipeline_free(raw)
        }

        /// Copies an input and starts it. If all places are taken, waits for the oldest input and returns its digest.
        public func push(_ input: some ContiguousBytes) throws -> BLAKE3.Digest? {
            try lock.withLock {
                if let digest = try start(input) { ready.append(digest) }
                return ready.isEmpty ? nil : ready.removeFirst()
            }
        }

        /// Waits for the oldest input; `nil` if there is none.
        public func pop() throws -> BLAKE3.Digest? {
            try lock.withLock {
                if !ready.isEmpty { return ready.removeFirst() }
                return try wait()
            }
        }

        /// The digests of inputs, in their order. Those of inputs that were pushed before stay for ``pop()``. If an input fails,
        /// all of them do.
        public func hash(_ inputs: some Sequence<some ContiguousBytes>) throws -> [BLAKE3.Digest] {
            try lock.withLock {
                while let digest = try wait() { ready.append(digest) }
                do {
                    var digests: [BLAKE3.Digest] = []
                    for input in inputs {
                        if let digest = try start(input) { digests.append(digest) }
                    }
                    while let digest = try wait() { digests.append(digest) }
                    return digests
                } catch {
                    // Or the next call would return the digests of these inputs.
                    for _ in 0..<inFlightCount { _ = try? wait() }
                    throw error
                }
            }
        }

        // The caller holds the lock for these.

        private func start(_ input: some ContiguousBytes) throws -> BLAKE3.Digest? {
            try digest { out in
                input.withUnsafeBytes {
                    treewide_gpu_pipeline_push(raw, $0.baseAddress, $0.count, out)
                }
            }
        }

        private func wait() throws -> BLAKE3.Digest? {
            try digest { treewide_gpu_pipeline_pop(raw, $0) }
        }

        private func digest(
            _ call: (UnsafeMutablePointer<UInt8>) -> Int32
        ) throws -> BLAKE3.Digest? {
            var code: Int32 = 0
            let digest = BLAKE3GPU.digestOf(.plain) {
                code = call($1)
                return code == 1
            }
            guard code >= 0 else { throw BLAKE3GPU.failure() }
            return digest
        }
    }
}

extension BLAKE3GPU.Context {
    /// A pipeline with places for `inFlightCount` inputs of at most `inputCapacity` bytes each.
    public func makePipeline(
        inputCapacity: Int, inFlightCount: Int = 3, mode: BLAKE3.Mode = .plain
    ) throws -> BLAKE3GPU.Pipeline {
        try BLAKE3GPU.Pipeline(
            self, inputCapacity: inputCapacity, inFlightCount: inFlightCount, mode: mode)
    }
}
