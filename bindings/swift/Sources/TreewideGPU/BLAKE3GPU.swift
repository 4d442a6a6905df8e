import CTreewideGPU
import Foundation
import Treewide

/// Digests by GPUs: of bytes and files of the host, and of memory of the device. No GPU has run this code yet.
///
/// It works through CUDA, or through Vulkan, Metal or DX12, and looks for their drivers when the program runs.
public enum BLAKE3GPU {
    /// The interface through which a device is used.
    public enum Backend: UInt32, Sendable, CaseIterable {
        /// The kernels as programs for the CPU: slow, always there, for tests.
        case twin = 0
        /// NVIDIA's driver.
        case cuda = 1
        /// Vulkan, Metal or DX12.
        case wgpu = 2
    }

    /// The processor for bytes of the host.
    public enum ExecutionPolicy: Sendable, Hashable {
        /// The device for at least ``Context/minimumGPUByteCount`` bytes, else the CPU.
        case automatic
        /// The CPU.
        case cpu
        /// The device. The CPU hashes inputs, and last parts, of less than 256 KiB.
        case gpu
    }

    /// How bytes of the host reach the device.
    public enum Place: UInt32, Sendable, CaseIterable {
        /// Copied through pinned memory.
        case staged = 0
        /// Pinned without a copy. CUDA only.
        case wrapped = 1
    }

    /// A device that a driver knows, or a driver that is missing or broken.
    public struct Device: Sendable, Hashable {
        /// The interface.
        public let backend: Backend
        /// The number among the devices of this backend.
        public let index: Int
        /// The name that the driver gives it, or that of the interface if there is no device.
        public let name: String
        /// Bytes of memory, if the driver reports it.
        public let memoryByteCount: UInt64?
        /// Whether it is a driver that computes on the CPU, such as lavapipe.
        public let isSoftware: Bool
        /// Why it cannot be used; `nil` if it can.
        public let problem: String?

        init?(_ info: treewide_gpu_info) {
            guard let backend = Backend(rawValue: info.backend) else { return nil }
            self.backend = backend
            index = Int(info.index)
            name = withUnsafeBytes(of: info.name, text)
            memoryByteCount = info.memory == 0 ? nil : info.memory
            isSoftware = info.is_software != 0
            let problem = withUnsafeBytes(of: info.problem, text)
            self.problem = problem.isEmpty ? nil : problem
        }

        /// The kernels as programs for the CPU: a device that is always there, for tests.
        public static let twin = Device(
            backend: .twin, index: 0, name: "twin", memoryByteCount: nil, isSoftware: true,
            problem: nil)

        private init(
            backend: Backend, index: Int, name: String, memoryByteCount: UInt64?, isSoftware: Bool,
            problem: String?
        ) {
            self.backend = backend
            self.index = index
            self.name = name
            self.memoryByteCount = memoryByteCount
            self.isSoftware = isSoftware
            self.problem = problem
        }
    }

    /// All devices that the drivers of this machine know. A driver that is missing or broken is one of them, with its problem.
    ///
    /// Each device is opened for a moment, which takes tenths of a second.
    public static func devices() -> [Device] {
        var room = 16
        while true {
            var count = 0
            let found: [Device] = withUnsafeTemporaryAllocation(of: treewide_gpu_info.self, capacity: room) { infos in
                count = treewide_gpu_devices(infos.baseAddress, room)
                return infos.prefix(min(count, room)).compactMap(Device.init)
            }
            if count <= room { return found }
            room = count
        }
    }

    /// Opens a device; without one, the first that can be used and is not software.
    ///
    /// Opening takes tenths of a second and loads the kernels: keep the context.
    ///
    /// - Parameter minimumGPUByteCount: see ``Context/minimumGPUByteCount``.
    public static func makeContext(
        device: Device? = nil, minimumGPUByteCount: Int? = nil
    ) throws -> Context {
        if let device {
            return try Context(device: device, minimumGPUByteCount: minimumGPUByteCount)
        }
        let found = devices()
        if let first = found.first(where: { $0.problem == nil && !$0.isSoftware }) {
            return try Context(device: first, minimumGPUByteCount: minimumGPUByteCount)
        }
        let list = found.map { "; \($0.backend) \($0.index): \($0.name) (\($0.problem ?? "software"))" }
        throw BLAKE3Error.gpu(path: nil, reason: "there is no GPU that can be used" + list.joined())
    }

    /// Whether there is a GPU that can be used, and that is not software.
    public static var isAvailable: Bool {
        devices().contains { $0.problem == nil && !$0.isSoftware }
    }

    /// A text that ends with a zero.
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// The last error on this thread.
    static func failure(path: String? = nil) -> BLAKE3Error {
        let reason = treewide_gpu_error().map { String(cString: $0) } ?? ""
        return .gpu(path: path, reason: reason)
    }
}
