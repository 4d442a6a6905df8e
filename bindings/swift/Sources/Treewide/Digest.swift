import CTreewide
import Foundation

extension BLAKE3 {
    /// A digest of 32 bytes. `==` takes the same time for all digests.
    public struct Digest: Sendable {
        /// Bytes of a digest.
        public static let byteCount = digestByteCount

        @usableFromInline var value: treewide_swift_digest

        @usableFromInline
        package init(_ value: treewide_swift_digest) {
            self.value = value
        }

        /// A digest from 32 bytes; `nil` for any other number of them.
        public init?(bytes: some ContiguousBytes) {
            var value = treewide_swift_digest()
            let isWhole = bytes.withUnsafeBytes { from in
                guard from.count == Self.byteCount else { return false }
                withUnsafeMutableBytes(of: &value) { $0.copyMemory(from: from) }
                return true
            }
            guard isWhole else { return nil }
            self.value = value
        }

        /// A digest from 64 hexadecimal digits of either case; `nil` for all other texts.
        public init?(hex: String) {
            var value = treewide_swift_digest()
            let code = withUnsafeMutableBytes(of: &value) {
                treewide_from_hex(hex, $0.bindMemory(to: UInt8.self).baseAddress)
            }
            // A zero would end the text for C, but not for Swift.
            guard code == 0, hex.utf8.count == 2 * Self.byteCount else { return nil }
            self.value = value
        }

        /// The 32 bytes.
        public var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }

        /// 64 lower-case hexadecimal digits.
        public var hex: String {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(TREEWIDE_HEX_LEN)) { text in
                text.initialize(repeating: 0)
                withUnsafeBytes {
                    treewide_hex($0.bindMemory(to: UInt8.self).baseAddress, text.baseAddress)
                }
                return BLAKE3.text(text.baseAddress)
            }
        }

        /// Compares two digests, in the same time for all digests, as `==` does.
        public func constantTimeEquals(_ other: Digest) -> Bool { self == other }
    }
}

extension BLAKE3.Digest: ContiguousBytes {
    /// Calls `body` with the 32 bytes.
    @inlinable
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try Swift.withUnsafeBytes(of: value, body)
    }
}

extension BLAKE3.Digest: Hashable {
    public static func == (a: Self, b: Self) -> Bool {
        a.withUnsafeBytes { a in
            b.withUnsafeBytes { b in
                let (a, b) = (a.bindMemory(to: UInt8.self), b.bindMemory(to: UInt8.self))
                return treewide_equal(a.baseAddress, b.baseAddress) == 1
            }
        }
    }

    public func hash(into hasher: inout Swift.Hasher) {
        withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension BLAKE3.Digest: LosslessStringConvertible {
    /// Decodes 64 hexadecimal digits, as ``init(hex:)``.
    public init?(_ description: String) { self.init(hex: description) }

    /// Encodes as 64 hexadecimal digits, as ``hex``.
    public var description: String { hex }
}

extension BLAKE3.Digest: Codable {
    /// Decodes the text that ``encode(to:)`` writes.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let digest = Self(hex: text) else {
            let what = "a digest has exactly 64 hexadecimal digits, and this is \"\(text)\""
            throw DecodingError.dataCorruptedError(in: container, debugDescription: what)
        }
        self = digest
    }

    /// Encodes the digest as 64 hexadecimal digits.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}
