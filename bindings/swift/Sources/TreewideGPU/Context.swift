import CTreewide
import CTreewideGPU
import Foundation
import Treewide

extension BLAKE3GPU {
    /// An open device. Any threads may use it at once; it does its work in the order of the calls.
    public final class Context: @unchecked Sendable {
        // The C library allows several threads at once, and the pointer never changes.
        let raw: OpaquePointer

        /// The device.
        public let device: Device

        /// The fewest bytes that ``ExecutionPolicy/automatic`` gives to this device.
        ///
        /// The default is 16 MiB on a device that shares its memory with the CPU, and no length elsewhere: no GPU has been
        /// measured yet. `treewide-bench tune` measures yours.
        public let minimumGPUByteCount: Int

        /// Opens a device.
        public init(device: Device, minimumGPUByteCount: Int? = nil) throws {
            if let problem = device.problem { throw BLAKE3Error.gpu(path: nil, reason: problem) }
            var opened: OpaquePointer?
            let index = UInt32(clamping: device.index)
            guard treewide_gpu_open_backend(device.backend.rawValue, index, &opened) == 0,
                let opened
            else { throw BLAKE3GPU.failure() }
            raw = opened
            self.device = device
            let isUnified = treewide_gpu_is_unified(opened) != 0
            self.minimumGPUByteCount = minimumGPUByteCount ?? (isUnified ? 16 << 20 : .max)
        }

        deinit {
            treewide_gpu_close(raw)
        }

        /// Whether the device shares its memory with the CPU.
        public var isUnified: Bool { treewide_gpu_is_unified(raw) != 0 }

        private func isUsed(_ policy: ExecutionPolicy, _ count: Int) -> Bool {
            policy == .gpu || policy == .automatic && count >= minimumGPUByteCount
        }

        /// The digest of bytes of the host. Waits for it on this thread. If the CPU hashes them, it uses the threads of the pool.
        public func hash(
            input: some ContiguousBytes, policy: ExecutionPolicy = .automatic,
            place: Place = .staged, mode: BLAKE3.Mode = .plain
        ) throws -> BLAKE3.Digest {
            let digest = input.withUnsafeBytes { input -> BLAKE3.Digest? in
                guard isUsed(policy, input.count) else {
                    return BLAKE3.hashParallel(input, mode: mode)
                }
                return digestOf(mode) {
                    treewide_gpu_hash_bytes(
                        raw, $0, place.rawValue, input.baseAddress, input.count, $1) == 0
                }
            }
            guard let digest else { throw BLAKE3GPU.failure() }
            return digest
        }

        /// The digest of bytes of the host. Waits for it on a thread of Dispatch.
        ///
        /// Cancelling the task does not stop the device, except for files.
        public func hashAsync(
            input: some ContiguousBytes & Sendable, policy: ExecutionPolicy = .automatic,
            place: Place = .staged, mode: BLAKE3.Mode = .plain
        ) async throws -> BLAKE3.Digest {
            try await FileWatcher.runAsync(nil) { _ in
                try self.hash(input: input, policy: policy, place: place, mode: mode)
            }
        }
    }

    /// A digest that `fill` writes, given the mode; `nil` if it returns false.
    static func digestOf(
        _ mode: BLAKE3.Mode,
        _ fill: (UnsafePointer<treewide_mode>, UnsafeMutablePointer<UInt8>) -> Bool
    ) -> BLAKE3.Digest? {
        var value = treewide_swift_digest()
        let isFilled = withUnsafeMutablePointer(to: &value) { value in
            withUnsafePointer(to: mode.raw) {
                fill($0, UnsafeMutableRawPointer(value).assumingMemoryBound(to: UInt8.self))
            }
        }
        return isFilled ? BLAKE3.Digest(value) : nil
    }
}

extension BLAKE3GPU.Context {
    func digestOf(
        _ mode: BLAKE3.Mode,
        _ fill: (UnsafePointer<treewide_mode>, UnsafeMutablePointer<UInt8>) -> Bool
    ) -> BLAKE3.Digest? {
        BLAKE3GPU.digestOf(mode, fill)
    }
}
