import CTreewideGPU
import Foundation
import Treewide

extension BLAKE3GPU {
    /// Hashes inputs as they come, with several on their way: what a server does with requests. Digests come in the order of
    /// the inputs. All memory is allocated once.
    public final class Pipeline: @unchecked Sendable {
        // The lock guards what is behind `raw`.
        private let raw: OpaquePointer
        private let lock = NSLock()
        // Is closed after the pipeline.
        private let context: Context

        /// The most inputs on their way.
        public let inFlightCount: Int
        /// The most bytes of an input.
        public let inputCapacity: Int

        init(
            _ context: Context, inputCapacity: Int, inFlightCount: Int, mode: BLAKE3.Mode
        ) throws {
            var made: OpaquePointer?
            let code = withUnsafePointer(to: mode.raw) {
                treewide_gpu_pipeline_new(
                    context.raw, $0, max(inFlightCount, 0), UInt64(clamping: inputCapacity), &made)
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
            try digest { out in
                input.withUnsafeBytes {
                    treewide_gpu_pipeline_push(raw, $0.baseAddress, $0.count, out)
                }
            }
        }

        /// Waits for the oldest input; `nil` if there is none.
        public func pop() throws -> BLAKE3.Digest? {
            try digest { treewide_gpu_pipeline_pop(raw, $0) }
        }

        /// The digests of inputs, in their order.
        public func hash(_ inputs: some Sequence<some ContiguousBytes>) throws -> [BLAKE3.Digest] {
            var digests: [BLAKE3.Digest] = []
            for input in inputs {
                if let digest = try push(input) { digests.append(digest) }
            }
            while let digest = try pop() { digests.append(digest) }
            return digests
        }

        private func digest(
            _ call: (UnsafeMutablePointer<UInt8>) -> Int32
        ) throws -> BLAKE3.Digest? {
            var code: Int32 = 0
            let digest = lock.withLock {
                BLAKE3GPU.digestOf(.plain) {
                    code = call($1)
                    return code == 1
                }
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
