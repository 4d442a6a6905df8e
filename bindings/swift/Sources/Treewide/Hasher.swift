import CTreewide
import Foundation

extension BLAKE3 {
    /// Hashes an input that comes in pieces.
    ///
    /// It is a value of 1,912 bytes: copies are independent, and nothing is allocated or has to be freed. With a key it contains
    /// the key.
    ///
    ///     var hasher = BLAKE3.Hasher()
    ///     hasher.update(Data("hello ".utf8))
    ///     hasher.update(Data("world".utf8))
    ///     print(hasher.finalize())
    public struct Hasher: Sendable {
        /// Bytes of a block, as in CryptoKit's `HashFunction`.
        public static let blockByteCount = BLAKE3.blockByteCount
        /// Bytes of a digest, as in CryptoKit's `HashFunction`.
        public static let byteCount = digestByteCount

        @usableFromInline var state: treewide_hasher

        /// A hasher in the plain mode.
        @inlinable
        public init() {
            state = treewide_swift_hasher(nil)
        }

        /// A hasher in a mode.
        public init(mode: Mode) {
            state = withUnsafePointer(to: mode.raw) { treewide_swift_hasher($0) }
        }

        /// A hasher with a key of 32 bytes.
        public init(key: some ContiguousBytes) throws {
            self.init(mode: try .keyed(key))
        }

        /// A hasher that derives keys with a context: its input is the key material.
        public init(deriveKeyContext context: String) {
            self.init(mode: .deriveKey(context: context))
        }

        /// Appends bytes.
        @inlinable
        public mutating func update(_ input: some ContiguousBytes) {
            input.withUnsafeBytes { update(bufferPointer: $0) }
        }

        /// Appends bytes that may lie in several regions of memory.
        public mutating func update(data: some DataProtocol) {
            for region in data.regions { update(region) }
        }

        /// Appends bytes.
        @inlinable
        public mutating func update(bufferPointer input: UnsafeRawBufferPointer) {
            treewide_update(&state, input.baseAddress, input.count)
        }

        #if compiler(>=6.2)
        /// Appends bytes.
        public mutating func update(bytes: RawSpan) {
            bytes.withUnsafeBytes { update(bufferPointer: $0) }
        }
        #endif

        /// Appends bytes, which the threads of the pool hash if there are at least 1 MiB.
        public mutating func updateParallel(_ input: some ContiguousBytes) {
            input.withUnsafeBytes { treewide_update_parallel(&state, $0.baseAddress, $0.count) }
        }

        /// Bytes so far.
        public var count: UInt64 {
            withUnsafePointer(to: state) { treewide_count($0) }
        }

        /// Forgets the input and keeps the mode.
        public mutating func reset() {
            treewide_reset(&state)
        }

        /// The digest of the input so far. More may follow.
        @inlinable
        public func finalize() -> Digest {
            withUnsafePointer(to: state) { Digest(treewide_swift_finalize($0)) }
        }

        /// Fills `output` with the output for the input so far, from its first byte on.
        public func finalize(into output: UnsafeMutableRawBufferPointer) {
            let bytes = output.bindMemory(to: UInt8.self)
            withUnsafePointer(to: state) { treewide_finalize($0, 0, bytes.baseAddress, bytes.count) }
        }

        /// A reader of the output for the input so far, of any length.
        public func finalizeXOF() -> OutputReader { OutputReader(state) }

        // MARK: Stop and continue

        /// The hasher as bytes, to continue in another process, on another machine, or with a later release.
        ///
        /// They contain the key and pieces of the input: protect them as you protect these.
        public func toState() -> [UInt8] {
            let most = Int(TREEWIDE_STATE_MAX)
            return [UInt8](unsafeUninitializedCapacity: most) { bytes, count in
                count = withUnsafePointer(to: state) { treewide_state_to_bytes($0, bytes.baseAddress) }
            }
        }

        /// A hasher that continues from a state of ``toState()``. ``count`` is the place in the input to continue from.
        ///
        /// Throws ``BLAKE3Error/invalidState(_:)``. This finds accidents, not attackers: trust the source of a state as you
        /// trust the source of the key.
        public init(state bytes: some ContiguousBytes) throws {
            self.init()
            let code = bytes.withUnsafeBytes {
                treewide_state_from_bytes(&state, $0.baseAddress, $0.count)
            }
            guard code == 0 else { throw BLAKE3Error.invalidState(text(treewide_strerror(code))) }
        }
    }
}

extension BLAKE3.Hasher: CustomStringConvertible {
    /// Shows neither key nor input.
    public var description: String { "BLAKE3.Hasher(count: \(count))" }
}

extension BLAKE3.Hasher: CustomReflectable {
    /// Shows neither key nor input.
    public var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
