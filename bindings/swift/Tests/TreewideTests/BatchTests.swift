import Foundation
import Treewide
import XCTest

final class BatchTests: XCTestCase {
    func testHashMany() throws {
        var numbers = Numbers(state: 99)
        for (mode, _) in try modes() {
            for count in [0, 1, 2, 15, 63, 64, 65, 128, 500] {
                let inputs = (0..<count).map { _ in
                    pattern(Int.random(in: 0...(Bool.random(using: &numbers) ? 100 : 5000), using: &numbers))
                }
                let expected = inputs.map { BLAKE3.hash($0, mode: mode) }
                XCTAssertEqual(BLAKE3.hashMany(inputs, mode: mode), expected, "\(count) arrays")
                XCTAssertEqual(
                    BLAKE3.hashMany(inputs.map { Data($0) }, mode: mode), expected, "\(count) Data")
            }
        }
        XCTAssertEqual(BLAKE3.hashMany([[UInt8]]()), [])
    }

    func testPacked() throws {
        let bytes = pattern(10_000)
        let offsets: [UInt64] = [5, 5, 6, 1030, 1030, 9000, 10_000]
        let expected = zip(offsets, offsets.dropFirst()).map {
            BLAKE3.hash(bytes[Int($0)..<Int($1)])
        }
        XCTAssertEqual(try BLAKE3.hashMany(packed: bytes, offsets: offsets), expected)
        XCTAssertEqual(try BLAKE3.hashMany(packed: bytes, offsets: []), [])
        XCTAssertEqual(try BLAKE3.hashMany(packed: bytes, offsets: [7]), [])
        for bad: [UInt64] in [[2, 1], [0, 10_001], [.max, .max]] {
            XCTAssertThrowsError(try BLAKE3.hashMany(packed: bytes, offsets: bad)) {
                XCTAssertEqual($0 as? BLAKE3Error, .invalidOffsets)
            }
        }
    }
}
