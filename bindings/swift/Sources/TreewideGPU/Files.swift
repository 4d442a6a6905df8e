import CTreewide
import CTreewideGPU
import Foundation
import Treewide

extension BLAKE3GPU {
    /// How a GPU gets a file.
    public enum FileStrategy: Sendable, Hashable {
        /// Several threads read it into pinned memory, part by part, while the device hashes earlier parts. The CPU hashes files
        /// without a size, such as pipes.
        case gpuStaged
    }
}

extension BLAKE3File {
    /// The digest of the file at `path`, by a GPU. Waits for it on this thread.
    ///
    /// - Parameter context: the device; without one, the first GPU is opened for this call.
    /// - Throws: an error that names the path.
    public static func hash(
        path: String, strategy: BLAKE3GPU.FileStrategy, context: BLAKE3GPU.Context? = nil,
        mode: BLAKE3.Mode = .plain, progress: Progress? = nil
    ) throws -> BLAKE3.Digest {
        let watcher = FileWatcher(progress: progress)
        guard let digest = try run(path, context, mode, watcher) else {
            // Unreachable: nothing cancels this watcher.
            throw BLAKE3Error.gpu(path: path, reason: "hashing was stopped")
        }
        return digest
    }

    /// The digest of the file at `path`, by a GPU. Waits for it on a thread of Dispatch.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, after at most 4 MiB; else an error that names the path.
    public static func hashAsync(
        path: String, strategy: BLAKE3GPU.FileStrategy, context: BLAKE3GPU.Context? = nil,
        mode: BLAKE3.Mode = .plain, progress: Progress? = nil
    ) async throws -> BLAKE3.Digest {
        try await FileWatcher.runAsync(progress) { watcher in
            try run(path, context, mode, watcher)
        }
    }

    /// The digest; `nil` if the watcher stopped it.
    private static func run(
        _ path: String, _ context: BLAKE3GPU.Context?, _ mode: BLAKE3.Mode, _ watcher: FileWatcher
    ) throws -> BLAKE3.Digest? {
        try check(path)
        let context = try context ?? firstGPU(for: path)
        var code: Int32 = 0
        let digest = withExtendedLifetime((watcher, context)) {
            BLAKE3GPU.digestOf(mode) {
                code = treewide_gpu_hash_file(
                    context.raw, $0, path, FileWatcher.callback, watcher.context, $1)
                return code == 0
            }
        }
        switch code {
        case 0, TREEWIDE_E_STOPPED: return digest
        case TREEWIDE_GPU_E: throw BLAKE3GPU.failure(path: path)
        default: throw BLAKE3Error(code, path: path)
        }
    }

    private static func firstGPU(for path: String) throws -> BLAKE3GPU.Context {
        do {
            return try BLAKE3GPU.makeContext()
        } catch BLAKE3Error.gpu(nil, let reason) {
            throw BLAKE3Error.gpu(path: path, reason: reason)
        }
    }
}
