import CTreewide
import Foundation

/// Digests of files, in bounded memory.
///
/// A file that becomes shorter while it is being hashed is an error and not a crash, also with a mapping.
public enum BLAKE3File {
    /// How a file is read. The values are those of the C library.
    public enum Strategy: UInt32, Sendable, CaseIterable {
        /// The best way for each file: its length, the page cache and the kind of disk decide.
        case automatic
        /// One buffer, one thread.
        case read
        /// One thread at a time reads, the others hash.
        case readOverlapped
        /// Each thread reads the bytes that it hashes.
        case pread
        /// Mapped, one thread.
        case memoryMapped
        /// Mapped, several threads.
        case memoryMappedParallel
    }

    /// Receives the bytes of each tile that was read, on any threads at once. A tile has at most 4 MiB. While a pipe has nothing
    /// to read, it is called with 0. It may not wait for the threads of the pool, as ``BLAKE3/hashParallel(_:mode:)`` does.
    public typealias Progress = @Sendable (_ bytes: UInt64) -> Void

    /// The digest of the file at `path`. Waits for it on this thread.
    ///
    /// - Parameters:
    ///   - threads: the most threads of the pool; `nil` for all.
    ///   - dropCache: removes pages from the page cache that were not there before (Linux).
    ///   - progress: see ``Progress``.
    /// - Throws: an error that names the path.
    public static func hash(
        path: String, strategy: Strategy = .automatic, threads: Int? = nil,
        mode: BLAKE3.Mode = .plain, dropCache: Bool = false, progress: Progress? = nil
    ) throws -> BLAKE3.Digest {
        let watcher = progress.map { FileWatcher(progress: $0) }
        guard let digest = try run(path, strategy, threads, mode, dropCache, watcher) else {
            // Unreachable: nothing cancels this watcher.
            throw BLAKE3Error.file(path: path, errno: 0, reason: "hashing was stopped")
        }
        return digest
    }

    /// The digest of the file at `path`. Waits for it on a thread of Dispatch, so that no thread of Swift's own pool is
    /// blocked.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, at the next tile; else an error that names the path.
    public static func hashAsync(
        path: String, strategy: Strategy = .automatic, threads: Int? = nil,
        mode: BLAKE3.Mode = .plain, dropCache: Bool = false, progress: Progress? = nil
    ) async throws -> BLAKE3.Digest {
        try await FileWatcher.runAsync(progress) { watcher in
            try run(path, strategy, threads, mode, dropCache, watcher)
        }
    }

    /// The digest; `nil` if the watcher stopped it.
    private static func run(
        _ path: String, _ strategy: Strategy, _ threads: Int?, _ mode: BLAKE3.Mode,
        _ dropCache: Bool, _ watcher: FileWatcher?
    ) throws -> BLAKE3.Digest? {
        try check(path)
        var hasher = BLAKE3.Hasher(mode: mode)
        var options = treewide_file_options()
        options.strategy = strategy.rawValue
        options.threads = UInt32(clamping: threads.map { max($0, 1) } ?? 0)
        options.drop_cache = dropCache ? 1 : 0
        let code = withExtendedLifetime(watcher) {
            treewide_update_file_watched(
                &hasher.state, path, &options, watcher.map { _ in FileWatcher.callback },
                watcher.map(\.context))
        }
        switch code {
        case 0: return hasher.finalize()
        case TREEWIDE_E_STOPPED: return nil
        default: throw BLAKE3Error(code, path: path)
        }
    }

    /// C takes a zero for the end of a path, and would hash another file.
    package static func check(_ path: String) throws {
        guard path.utf8.contains(0) else { return }
        throw BLAKE3Error.file(
            path: path, errno: EINVAL, reason: "this path contains a zero byte, and no name of a file does")
    }
}

extension BLAKE3Error {
    /// The error of a function of the C library that hashed a file.
    package init(_ code: Int32, path: String) {
        switch code {
        case TREEWIDE_E_SHRANK: self = .fileShrank(path: path)
        case TREEWIDE_E_ENDED: self = .fileEnded(path: path)
        case TREEWIDE_E_GOES_ON: self = .fileGoesOn(path: path)
        default:
            let number = (-4095 ... -1).contains(code) ? -code : 0
            let reason = BLAKE3.text(treewide_strerror(code))
            self = .file(path: path, errno: number, reason: reason)
        }
    }
}
