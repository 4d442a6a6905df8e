import CTreewide
import Foundation

extension BLAKE3 {
    /// Inputs whose memory is held at a time. Each of them takes a few frames of the stack.
    @usableFromInline static let group = 64

    /// The digests of many inputs, in their order, on this thread. Short inputs are hashed next to each other in the lanes of
    /// the vector registers, several times as fast as in a loop.
    @inlinable
    public static func hashMany(_ inputs: [some ContiguousBytes], mode: Mode = .plain) -> [Digest] {
        digests(inputs.count) { out in
            withUnsafeTemporaryAllocation(of: treewide_bytes.self, capacity: group) { list in
                for start in stride(from: 0, to: inputs.count, by: group) {
                    let count = min(group, inputs.count - start)
                    hold(inputs, start, count, 0, list) {
                        hashMany(list, count, mode, out + start * digestByteCount)
                    }
                }
            }
        }
    }

    /// Calls `body` with inputs `start` to `start + count` in `list`: one frame holds the memory of each.
    @inlinable
    static func hold(
        _ inputs: [some ContiguousBytes], _ start: Int, _ count: Int, _ held: Int,
        _ list: UnsafeMutableBufferPointer<treewide_bytes>, _ body: () -> Void
    ) {
        guard held < count else { return body() }
        inputs[start + held].withUnsafeBytes {
            list[held] = treewide_bytes(data: $0.baseAddress, len: $0.count)
            hold(inputs, start, count, held + 1, list, body)
        }
    }

    @usableFromInline
    static func hashMany(
        _ list: UnsafeMutableBufferPointer<treewide_bytes>, _ count: Int, _ mode: Mode,
        _ out: UnsafeMutablePointer<UInt8>
    ) {
        withUnsafePointer(to: mode.raw) { treewide_hash_many($0, list.baseAddress, count, out) }
    }

    /// The digests of inputs that lie in one buffer, as in an array of Apache Arrow: number `i` from `offsets[i]` up to
    /// `offsets[i + 1]`. The first offset need not be 0.
    ///
    /// Throws ``BLAKE3Error/invalidOffsets`` if offsets decrease or pass the end of the buffer.
    public static func hashMany(
        packed: some ContiguousBytes, offsets: [UInt64], mode: Mode = .plain
    ) throws -> [Digest] {
        guard !offsets.isEmpty else { return [] }
        var code: Int32 = 0
        let result = digests(offsets.count - 1) { out in
            withUnsafePointer(to: mode.raw) { mode in
                packed.withUnsafeBytes {
                    code = treewide_hash_packed(
                        mode, $0.baseAddress, $0.count, offsets, offsets.count - 1, out)
                }
            }
        }
        guard code == 0 else { throw BLAKE3Error.invalidOffsets }
        return result
    }

    /// `count` digests that `fill` writes.
    @usableFromInline
    static func digests(
        _ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void
    ) -> [Digest] {
        precondition(MemoryLayout<Digest>.stride == digestByteCount)
        return [Digest](unsafeUninitializedCapacity: count) { digests, filled in
            guard let start = digests.baseAddress, count > 0 else { return }
            start.withMemoryRebound(to: treewide_swift_digest.self, capacity: count) {
                $0.initialize(repeating: treewide_swift_digest(), count: count)
                fill(UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt8.self))
            }
            filled = count
        }
    }
}
