import CTreewide
import Foundation

extension BLAKE3 {
    /// Reads output of any length. Copies are independent. The length of reads does not matter: up to 1 KiB is computed ahead.
    public struct OutputReader: Sendable {
        private var state: treewide_reader

        /// The next byte of the output that is read. The output has 2^64 - 1 bytes.
        public private(set) var position: UInt64 = 0

        init(_ hasher: treewide_hasher) {
            state = withUnsafePointer(to: hasher) { treewide_swift_reader($0) }
        }

        /// Moves to a byte of the output.
        public mutating func seek(to position: UInt64) {
            self.position = position
            treewide_reader_seek(&state, position)
        }

        /// Fills `output` with the next bytes.
        public mutating func read(into output: UnsafeMutableRawBufferPointer) {
            let bytes = output.bindMemory(to: UInt8.self)
            treewide_reader_read(&state, bytes.baseAddress, bytes.count)
            let (next, isPastTheEnd) = position.addingReportingOverflow(UInt64(bytes.count))
            position = isPastTheEnd ? .max : next
        }

        /// The next `count` bytes. A negative count ends the program.
        public mutating func read(count: Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
                let room = UnsafeMutableBufferPointer(rebasing: bytes.prefix(count))
                read(into: UnsafeMutableRawBufferPointer(room))
                filled = count
            }
        }
    }
}

extension BLAKE3.OutputReader: CustomReflectable {
    /// Shows neither key nor input.
    public var customMirror: Mirror { Mirror(self, children: ["position": position]) }
}
