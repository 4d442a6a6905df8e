import Dispatch
import Foundation

/// What the C library asks after each tile of a file: counts for the caller, and says whether to stop.
package final class FileWatcher: @unchecked Sendable {
    // The lock guards `isCancelled`; the closure is Sendable.
    private let lock = NSLock()
    private var isCancelled = false
    private let progress: BLAKE3File.Progress?

    package init(progress: BLAKE3File.Progress?) {
        self.progress = progress
    }

    private func cancel() {
        lock.withLock { isCancelled = true }
    }

    private var mustStop: Bool { lock.withLock { isCancelled } }

    /// What ``callback`` is called with. Valid as long as the watcher lives.
    package var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// `treewide_watch` of the header.
    package static let callback: @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Int32 = {
        guard let context = $0 else { return 1 }
        let watcher = Unmanaged<FileWatcher>.fromOpaque(context).takeUnretainedValue()
        watcher.progress?($1)
        return watcher.mustStop ? 1 : 0
    }

    /// Runs `work`, which returns `nil` where the watcher stopped it, on a thread of Dispatch, and stops it with the task.
    package static func runAsync<T: Sendable>(
        _ progress: BLAKE3File.Progress?,
        _ work: @escaping @Sendable (FileWatcher) throws -> T?
    ) async throws -> T {
        try Task.checkCancellation()
        let watcher = FileWatcher(progress: progress)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        with: Result {
                            // The task may have been cancelled while this waited for a thread.
                            guard !watcher.mustStop, let result = try work(watcher) else {
                                throw CancellationError()
                            }
                            return result
                        })
                }
            }
        } onCancel: {
            watcher.cancel()
        }
    }
}
