import CTreewide
import Foundation

/// Standard BLAKE3 digests: of one input, of many, with a key, and derived keys.
///
/// Names are those of BLAKE3Swift where they mean the same; `docs/swift.md` has a table. ``Hasher`` takes an input in
/// pieces, ``BLAKE3File`` hashes files.
public enum BLAKE3 {
    /// Bytes of a digest.
    public static let digestByteCount = 32
    /// Bytes of a key.
    public static let keyByteCount = 32
    /// Bytes of a block, which one compression takes.
    public static let blockByteCount = 64
    /// Bytes of a chunk, which is a leaf of the tree.
    public static let chunkByteCount = 1024

    /// Inputs of at least this many bytes are hashed by several threads, where a function says so.
    @usableFromInline static let parallelFrom = 1 << 20

    // MARK: One input

    /// The digest of `input`: on one thread below 1 MiB, and on the threads of the pool from 1 MiB on.
    ///
    /// The pool has one thread for each CPU, or as many as the environment variable `RAYON_NUM_THREADS` says.
    @inlinable
    public static func hash(_ input: some ContiguousBytes) -> Digest {
        input.withUnsafeBytes { hash($0) }
    }

    /// The digest of `input`: on one thread below 1 MiB, and on the threads of the pool from 1 MiB on.
    @inlinable
    public static func hash(_ input: UnsafeRawBufferPointer) -> Digest {
        input.count < parallelFrom ? hashSerial(input) : hashParallel(input)
    }

    /// The first `outputByteCount` bytes of the output for `input`; the first 32 are the digest.
    public static func hash(
        _ input: some ContiguousBytes, outputByteCount: Int
    ) throws -> [UInt8] {
        try output(outputByteCount, of: input, mode: .plain)
    }

    /// The digest of `input`, on this thread alone.
    @inlinable
    public static func hashSerial(_ input: some ContiguousBytes) -> Digest {
        input.withUnsafeBytes { hashSerial($0) }
    }

    /// The digest of `input`, on this thread alone.
    @inlinable
    public static func hashSerial(_ input: UnsafeRawBufferPointer) -> Digest {
        Digest(treewide_swift_hash(input.baseAddress, input.count))
    }

    /// The digest of `input`, on the threads of the pool. Inputs of less than 1 MiB are hashed on this thread.
    public static func hashParallel(_ input: some ContiguousBytes) -> Digest {
        input.withUnsafeBytes { hashParallel($0) }
    }

    /// The digest of `input`, on the threads of the pool. Inputs of less than 1 MiB are hashed on this thread.
    public static func hashParallel(_ input: UnsafeRawBufferPointer) -> Digest {
        hash(input, mode: .plain)
    }

    /// The digest of `input` in a mode: on the threads of the pool from 1 MiB on.
    public static func hash(_ input: some ContiguousBytes, mode: Mode) -> Digest {
        input.withUnsafeBytes { hash($0, mode: mode) }
    }

    /// The digest of `input` in a mode: on the threads of the pool from 1 MiB on.
    public static func hash(_ input: UnsafeRawBufferPointer, mode: Mode) -> Digest {
        if input.count < parallelFrom {
            return withUnsafePointer(to: mode.raw) {
                Digest(treewide_swift_hash_mode($0, input.baseAddress, input.count))
            }
        }
        var hasher = Hasher(mode: mode)
        hasher.updateParallel(input)
        return hasher.finalize()
    }

    // MARK: Keys

    /// A message authentication code, or a value of a pseudorandom function: the digest of `input` with a key of 32 bytes.
    public static func keyedHash(
        key: some ContiguousBytes, input: some ContiguousBytes
    ) throws -> Digest {
        hash(input, mode: try .keyed(key))
    }

    /// The first `outputByteCount` bytes of the output for `input` with a key of 32 bytes.
    public static func keyedHash(
        key: some ContiguousBytes, input: some ContiguousBytes, outputByteCount: Int
    ) throws -> [UInt8] {
        try output(outputByteCount, of: input, mode: try .keyed(key))
    }

    /// Derives a key of `outputByteCount` bytes from key material.
    ///
    /// The context is hard-coded and names application, date and purpose: `"example.com 2026-11-25 session tokens"`.
    public static func deriveKey(
        context: String, material: some ContiguousBytes, outputByteCount: Int = digestByteCount
    ) throws -> [UInt8] {
        try output(outputByteCount, of: material, mode: .deriveKey(context: context))
    }

    private static func output(
        _ count: Int, of input: some ContiguousBytes, mode: Mode
    ) throws -> [UInt8] {
        guard count >= 0 else { throw BLAKE3Error.invalidOutputLength(count) }
        var hasher = Hasher(mode: mode)
        hasher.updateParallel(input)
        var reader = hasher.finalizeXOF()
        return reader.read(count: count)
    }

    // MARK: The library

    /// The routines for the instructions of this CPU, such as `avx2-common`.
    public static var kernel: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(TREEWIDE_KERNEL_MAX)) {
            $0.initialize(repeating: 0)
            treewide_kernel($0.baseAddress)
            return text($0.baseAddress)
        }
    }

    /// The version of the C library that is linked.
    public static var version: String { text(treewide_version()) }

    static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        pointer.map { String(cString: $0) } ?? ""
    }
}
