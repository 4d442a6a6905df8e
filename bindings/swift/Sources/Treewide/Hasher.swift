import CTreewide
import Foundation

extension BLAKE3 {
    /// Hashes an input that comes in pieces.
    ///
    /// It is a value of about 1,900 bytes: copies are independent. From the 17th short piece on it gathers pieces in a buffer of
    /// up to 35 KB, which copies share until one of them gets more input. With a key it contains the key.
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

        /// The input so far, if there is no stream; its mode in any case.
        @usableFromInline var state: treewide_hasher
        /// Gathers short pieces, and holds the input so far.
        @usableFromInline var stream: StreamBox?
        @usableFromInline var shortPieces = 0

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
            guard stream == nil else { return gather(input) }
            treewide_update(&state, input.baseAddress, input.count)
            // Pieces of 16 KiB fill the lanes. A stream is allocated, which few pieces are not worth.
            if input.count < 16 << 10 {
                shortPieces += 1
                if shortPieces == 16 { stream = StreamBox(state) }
            }
        }

        @usableFromInline
        mutating func gather(_ input: UnsafeRawBufferPointer) {
            if isKnownUniquelyReferenced(&stream), let stream {
                treewide_stream_update(stream.raw, input.baseAddress, input.count)
            } else {
                settle()
                update(bufferPointer: input)
            }
        }

        /// Leaves the stream, which other copies may use.
        mutating func settle() {
            guard let stream else { return }
            treewide_stream_to_hasher(stream.raw, &state)
            (self.stream, shortPieces) = (nil, 0)
        }

        /// A copy of the input so far, without a stream.
        var settled: treewide_hasher {
            var copy = self
            copy.settle()
            return copy.state
        }

        #if compiler(>=6.2)
        /// Appends bytes.
        public mutating func update(bytes: RawSpan) {
            bytes.withUnsafeBytes { update(bufferPointer: $0) }
        }
        #endif

        /// Appends bytes, which the threads of the pool hash if there are at least 1 MiB.
        public mutating func updateParallel(_ input: some ContiguousBytes) {
            settle()
            input.withUnsafeBytes { treewide_update_parallel(&state, $0.baseAddress, $0.count) }
        }

        /// Bytes so far.
        public var count: UInt64 {
            if let stream { return treewide_stream_count(stream.raw) }
            return withUnsafePointer(to: state) { treewide_count($0) }
        }

        /// Forgets the input and keeps the mode.
        public mutating func reset() {
            (stream, shortPieces) = (nil, 0)
            treewide_reset(&state)
        }

        /// The digest of the input so far. More may follow.
        @inlinable
        public func finalize() -> Digest {
            if let stream { return Digest(treewide_swift_stream_finalize(stream.raw)) }
            return withUnsafePointer(to: state) { Digest(treewide_swift_finalize($0)) }
        }

        /// Fills `output` with the output for the input so far, from its first byte on.
        public func finalize(into output: UnsafeMutableRawBufferPointer) {
            let bytes = output.bindMemory(to: UInt8.self)
            if let stream { return treewide_stream_finalize(stream.raw, 0, bytes.baseAddress, bytes.count) }
            withUnsafePointer(to: state) { treewide_finalize($0, 0, bytes.baseAddress, bytes.count) }
        }

        /// A reader of the output for the input so far, of any length.
        public func finalizeXOF() -> OutputReader { OutputReader(settled) }

        // MARK: Stop and continue

        /// The hasher as bytes, to continue in another process, on another machine, or with a later release.
        ///
        /// They contain the key and pieces of the input: protect them as you protect these.
        public func toState() -> [UInt8] {
            let most = Int(TREEWIDE_STATE_MAX)
            return [UInt8](unsafeUninitializedCapacity: most) { bytes, count in
                count = withUnsafePointer(to: settled) { treewide_state_to_bytes($0, bytes.baseAddress) }
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

/// A hasher of the C library that gathers short pieces. It changes only while it belongs to one `Hasher`.
@usableFromInline
final class StreamBox: @unchecked Sendable {
    @usableFromInline let raw: OpaquePointer

    /// A stream that continues from `state`; `nil` without memory.
    @usableFromInline
    init?(_ state: treewide_hasher) {
        guard let raw = withUnsafePointer(to: state, { treewide_stream_from_hasher($0) }) else { return nil }
        self.raw = raw
    }

    deinit { treewide_stream_free(raw) }
}

extension BLAKE3.Hasher: CustomStringConvertible {
    /// Shows neither key nor input.
    public var description: String { "BLAKE3.Hasher(count: \(count))" }
}

extension BLAKE3.Hasher: CustomReflectable {
    /// Shows neither key nor input.
    public var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
