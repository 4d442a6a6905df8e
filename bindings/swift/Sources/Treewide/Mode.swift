import CTreewide
import Foundation

extension BLAKE3 {
    /// The plain mode, a key, or a context that derives keys.
    ///
    /// Make a mode once and use it any number of times, from any threads. It contains the key.
    public struct Mode: Sendable {
        package var raw: treewide_mode

        /// The plain mode.
        public static let plain = Mode(raw: treewide_mode())

        /// A mode with a key of 32 bytes.
        ///
        /// Throws ``BLAKE3Error/invalidKeyLength(_:)`` for a key of another length.
        public static func keyed(_ key: some ContiguousBytes) throws -> Mode {
            var mode = treewide_mode()
            let count = key.withUnsafeBytes { key in
                let bytes = key.bindMemory(to: UInt8.self)
                if key.count == keyByteCount { treewide_mode_keyed(&mode, bytes.baseAddress) }
                return key.count
            }
            guard count == keyByteCount else { throw BLAKE3Error.invalidKeyLength(count) }
            return Mode(raw: mode)
        }

        /// A mode that derives keys: inputs are key material.
        ///
        /// Write the context into the program. It names application, date and purpose.
        public static func deriveKey(context: String) -> Mode {
            var (mode, context) = (treewide_mode(), context)
            context.withUTF8 { treewide_mode_derive_key(&mode, $0.baseAddress, $0.count) }
            return Mode(raw: mode)
        }
    }
}

extension BLAKE3.Mode: CustomStringConvertible {
    /// Shows no key.
    public var description: String { "BLAKE3.Mode" }
}

extension BLAKE3.Mode: CustomReflectable {
    /// Shows no key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
