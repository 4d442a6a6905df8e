import CTreewide
import Foundation
import Treewide
import XCTest

/// Input of the vectors: byte `i` is `i % 251`.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8($0 % 251) }
}

/// The same numbers at each run.
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

/// Output of the C function for one input.
func fromC(_ mode: inout treewide_mode, _ input: some ContiguousBytes, count: Int = 32) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { out, filled in
        input.withUnsafeBytes {
            treewide_hash_mode(&mode, $0.baseAddress, $0.count, out.baseAddress, count)
        }
        filled = count
    }
}

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
}

/// The three modes for Swift and for C.
func modes() throws -> [(BLAKE3.Mode, treewide_mode)] {
    let key = Array("whats the Elvish word for friend".utf8)
    let context = "BLAKE3 2019-12-27 16:29:52 test vectors context"
    var keyed = treewide_mode(), derive = treewide_mode()
    treewide_mode_keyed(&keyed, key)
    treewide_mode_derive_key(&derive, context, context.utf8.count)
    return [
        (.plain, treewide_mode()), (try .keyed(key), keyed),
        (.deriveKey(context: context), derive),
    ]
}

/// A folder that is removed after the test.
final class Folder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    /// A file of zeros that needs no storage.
    func zeros(_ name: String, _ count: Int) throws -> String {
        let path = try file(name, [])
        XCTAssertEqual(truncate(path, count), 0)
        return path
    }
}
