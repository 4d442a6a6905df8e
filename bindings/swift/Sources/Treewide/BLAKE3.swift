import CTreewide
import Foundation

/// Standard BLAKE3 digests: of one input, of many, with a key, and derived keys.
///
/// `bindings/swift/README.md` says which names are those of BLAKE3Swift. ``Hasher`` takes an input in pieces, ``BLAKE3File`` hashes
/// files.
public enum BLAKE3 {
    /// Bytes of a digest.
    public static let digestByteCount = 32
    /// Bytes of a key.
    public static let keyByteCount = 32
    /// Bytes of a block, which one compression takes.
    public static let blockByteCount = 64
    /// Bytes of a chunk, which is a leaf of the tree.
    public static let chunkByteCount = 1024

    // MARK: One input

    /// The digest of `input`, on this thread.
    @inlinable
    public static func hash(_ input: some ContiguousBytes) -> Digest {
        input.withUnsafeBytes { Digest(treewide_swift_hash($0.baseAddress, $0.count)) }
    }

    /// The digest of `input` in a mode, on this thread.
    public static func hash(_ input: some ContiguousBytes, mode: Mode) -> Digest {
        withUnsafePointer(to: mode.raw) { mode in
            input.withUnsafeBytes { Digest(treewide_swift_hash_mode(mode, $0.baseAddress, $0.count)) }
        }
    }

    /// The first `outputByteCount` bytes of the output for `input`, on this thread. The first 32 are the digest.
    public static func hash(
        _ input: some ContiguousBytes, outputByteCount: Int
    ) throws -> [UInt8] {
        try output(outputByteCount, of: input, mode: .plain)
    }

    /// The digest of `input`, on the threads of the pool. Inputs of less than 1 MiB are hashed on this thread.
    ///
    /// The pool has one thread for each CPU, or as many as the environment variable `RAYON_NUM_THREADS` says.
    public static func hashParallel(_ input: some ContiguousBytes, mode: Mode = .plain) -> Digest {
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
    /// Write the context into the program. It names application, date and purpose: `"example.com 2026-11-25 session tokens"`.
    public static func deriveKey(
        context: String, material: some ContiguousBytes, outputByteCount: Int = digestByteCount
    ) throws -> [UInt8] {
        try output(outputByteCount, of: material, mode: .deriveKey(context: context))
    }

    private static func output(
        _ count: Int, of input: some ContiguousBytes, mode: Mode
    ) throws -> [UInt8] {
        guard count >= 0 else { throw BLAKE3Error.invalidOutputLength(count) }
        return [UInt8](unsafeUninitializedCapacity: count) { out, filled in
            withUnsafePointer(to: mode.raw) { mode in
                input.withUnsafeBytes {
                    treewide_hash_mode(mode, $0.baseAddress, $0.count, out.baseAddress, count)
                }
            }
            filled = count
        }
    }

    // MARK: The library

    /// The name of the code for the instructions of this CPU, such as `avx2-common`.
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
