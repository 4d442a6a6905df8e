import CTreewideGPU
import Foundation
import Treewide

extension BLAKE3GPU {
    /// Memory of a device. Its contents are undefined until they are written.
    public final class Buffer: @unchecked Sendable {
        // The device does its work in the order of the calls, and the pointer never changes.
        let raw: OpaquePointer
        private let context: Context

        /// Bytes.
        public let count: Int

        init(_ context: Context, count: Int) throws {
            guard count >= 0 else {
                throw BLAKE3Error.gpu(path: nil, reason: "a buffer has 0 or more bytes, not \(count)")
            }
            var made: OpaquePointer?
            guard treewide_gpu_buffer_new(context.raw, UInt64(count), &made) == 0, let made else {
                throw BLAKE3GPU.failure()
            }
            raw = made
            self.context = context
            self.count = count
        }

        deinit {
            treewide_gpu_buffer_free(raw)
        }

        /// Copies bytes of the host to byte `offset`, a multiple of 4, and waits until they are there.
        public func replaceContents(
            with input: some ContiguousBytes, at offset: Int = 0
        ) throws {
            let at = try place(offset)
            let code = input.withUnsafeBytes {
                treewide_gpu_buffer_write(context.raw, raw, at, $0.baseAddress, $0.count)
            }
            guard code == 0 else { throw BLAKE3GPU.failure() }
        }

        /// The digest of a range of bytes, which may start anywhere: on the device, without a copy to the host.
        public func hash(
            range: Range<Int>? = nil, mode: BLAKE3.Mode = .plain
        ) throws -> BLAKE3.Digest {
            let range = range ?? 0..<count
            let at = try place(range.lowerBound)
            let digest = BLAKE3GPU.digestOf(mode) {
                treewide_gpu_buffer_hash(context.raw, $0, raw, at, UInt64(range.count), $1) == 0
            }
            guard let digest else { throw BLAKE3GPU.failure() }
            return digest
        }

        private func place(_ byte: Int) throws -> UInt64 {
            guard byte >= 0 else {
                let reason = "a buffer begins at byte 0, so there is no byte \(byte)"
                throw BLAKE3Error.gpu(path: nil, reason: reason)
            }
            return UInt64(byte)
        }
    }
}

extension BLAKE3GPU.Context {
    /// New memory of the device.
    public func makeBuffer(count: Int) throws -> BLAKE3GPU.Buffer {
        try BLAKE3GPU.Buffer(self, count: count)
    }

    /// New memory of the device with a copy of bytes of the host.
    public func makeBuffer(input: some ContiguousBytes) throws -> BLAKE3GPU.Buffer {
        let buffer = try makeBuffer(count: input.withUnsafeBytes(\.count))
        try buffer.replaceContents(with: input)
        return buffer
    }
}
