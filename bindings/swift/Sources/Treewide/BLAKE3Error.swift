import Foundation

/// An error of hashing. Each description says what to do.
public enum BLAKE3Error: Error, Equatable, Sendable {
    /// A key of this many bytes.
    case invalidKeyLength(Int)
    /// Output of a negative length.
    case invalidOutputLength(Int)
    /// An offset that decreases or is past the end of the buffer.
    case invalidOffsets
    /// Bytes that are not the state of a hasher, with the reason.
    case invalidState(String)
    /// The file cannot be opened or read: the number and the text that the system has for it.
    case file(path: String, errno: Int32, reason: String)
    /// The file became shorter while it was being hashed.
    case fileShrank(path: String)
    /// Reading the file ended before its length, which is still the same.
    case fileEnded(path: String)
    /// The file has bytes after its length, which is still the same.
    case fileGoesOn(path: String)
    /// The GPU, or its driver, cannot do it; with the path of the file, if there is one.
    case gpu(path: String?, reason: String)
}

extension BLAKE3Error: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .invalidKeyLength(let count):
            "a key has 32 bytes, not \(count)"
        case .invalidOutputLength(let count):
            "output has 0 or more bytes, not \(count)"
        case .invalidOffsets:
            "an offset is less than the one before it, or is past the end of the buffer"
        case .invalidState(let reason):
            reason
        case .file(let path, _, let reason):
            "\(path): \(reason)"
        case .fileShrank(let path):
            "\(path): the file became shorter while it was being hashed; hash it again when nothing writes to it"
        case .fileEnded(let path):
            "\(path): reading ended before the length of the file; check the connection or disk, and retry"
        case .fileGoesOn(let path):
            "\(path): the file has bytes after its length; check its file system"
        case .gpu(let path?, let reason):
            reason.hasPrefix(path + ": ") ? reason : "\(path): \(reason)"
        case .gpu(nil, let reason):
            reason
        }
    }

    public var errorDescription: String? { description }
}
