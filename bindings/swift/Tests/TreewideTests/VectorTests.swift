import Foundation
import Treewide
import XCTest

/// The files of `vectors/`, which come from the `blake3` crate.
final class VectorTests: XCTestCase {
    struct Hashes: Decodable {
        struct Case: Decodable {
            let len: Int
            let hash, keyed_hash, derive_key: String
        }
        let key, context: String
        let cases: [Case]
    }

    struct Outputs: Decodable {
        struct Case: Decodable {
            let len: Int
            let mode, seek, output: String
        }
        let key, context: String
        let cases: [Case]
    }

    func read<T: Decodable>(_ name: String) throws -> T {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let file = folder.appendingPathComponent("../../../../vectors/" + name)
        return try JSONDecoder().decode(T.self, from: Data(contentsOf: file))
    }

    func testHash() throws {
        let all: Hashes = try read("hash.json")
        let key = Array(all.key.utf8)
        for it in all.cases {
            let input = pattern(it.len)
            let count = it.hash.count / 2
            XCTAssertEqual(hex(try BLAKE3.hash(input, outputByteCount: count)), it.hash, "\(it.len)")
            XCTAssertTrue(it.hash.hasPrefix(BLAKE3.hash(input).hex), "\(it.len)")
            XCTAssertTrue(it.hash.hasPrefix(BLAKE3.hashParallel(input).hex), "\(it.len)")
            let keyed = try BLAKE3.keyedHash(key: key, input: input, outputByteCount: count)
            XCTAssertEqual(hex(keyed), it.keyed_hash, "\(it.len)")
            let digest = try BLAKE3.keyedHash(key: Data(key), input: Data(input))
            XCTAssertTrue(it.keyed_hash.hasPrefix(digest.hex), "\(it.len)")
            let derived = try BLAKE3.deriveKey(
                context: all.context, material: input, outputByteCount: count)
            XCTAssertEqual(hex(derived), it.derive_key, "\(it.len)")
        }
        print("swift/vectors: \(all.cases.count * 3) cases")
    }

    func testOutput() throws {
        let all: Outputs = try read("xof.json")
        let modes: [String: BLAKE3.Mode] = [
            "hash": .plain, "keyed_hash": try .keyed(Array(all.key.utf8)),
            "derive_key": .deriveKey(context: all.context),
        ]
        for it in all.cases {
            var hasher = BLAKE3.Hasher(mode: try XCTUnwrap(modes[it.mode]))
            hasher.update(pattern(it.len))
            var reader = hasher.finalizeXOF()
            let seek = try XCTUnwrap(UInt64(it.seek))
            reader.seek(to: seek)
            let output = reader.read(count: it.output.count / 2)
            XCTAssertEqual(hex(output), it.output, "\(it.len) bytes from \(it.seek)")
            XCTAssertEqual(reader.position, seek &+ UInt64(output.count))
        }
        print("swift/xof vectors: \(all.cases.count) cases")
    }
}
