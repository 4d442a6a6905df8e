import Foundation
import Treewide
import XCTest

final class DigestTests: XCTestCase {
    let abc = BLAKE3.hash(Data("abc".utf8))
    let text = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"

    func testText() {
        XCTAssertEqual(abc.hex, text)
        XCTAssertEqual("\(abc)", text)
        XCTAssertEqual(hex(abc.bytes), text)
        XCTAssertEqual(BLAKE3.Digest(hex: text), abc)
        XCTAssertEqual(BLAKE3.Digest(hex: text.uppercased()), abc)
        XCTAssertEqual(BLAKE3.Digest(text), abc)
        for bad in ["", "64", String(text.dropLast()), text + "0", "g" + text.dropFirst(), text + "\0", " " + text] {
            XCTAssertNil(BLAKE3.Digest(hex: bad), bad)
        }
        XCTAssertEqual(BLAKE3.Digest(bytes: abc.bytes), abc)
        XCTAssertEqual(BLAKE3.Digest(bytes: Data(abc.bytes)), abc)
        XCTAssertEqual(BLAKE3.Digest(bytes: abc), abc)
        XCTAssertNil(BLAKE3.Digest(bytes: pattern(31)))
        XCTAssertNil(BLAKE3.Digest(bytes: pattern(33)))
        XCTAssertEqual(MemoryLayout<BLAKE3.Digest>.size, 32)
    }

    func testEquality() {
        for bit in 0..<256 {
            var bytes = abc.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            XCTAssertNotEqual(BLAKE3.Digest(bytes: bytes), abc)
        }
        XCTAssertTrue(abc.constantTimeEquals(BLAKE3.hash(Data("abc".utf8))))
        let all = Set((0..<1000).map { BLAKE3.hash(pattern($0)) })
        XCTAssertEqual(all.count, 1000)
        XCTAssertTrue(all.contains(BLAKE3.hash(pattern(999))))
        // A digest is an input.
        XCTAssertEqual(BLAKE3.hash(abc), BLAKE3.hash(abc.bytes))
    }

    func testCodable() throws {
        let json = try JSONEncoder().encode([abc])
        XCTAssertEqual(String(decoding: json, as: UTF8.self), "[\"\(text)\"]")
        XCTAssertEqual(try JSONDecoder().decode([BLAKE3.Digest].self, from: json), [abc])
        let bad = Data("[\"6437\"]".utf8)
        XCTAssertThrowsError(try JSONDecoder().decode([BLAKE3.Digest].self, from: bad)) {
            XCTAssertTrue("\($0)".contains("64 hexadecimal digits"), "\($0)")
        }
    }

    func testLibrary() {
        XCTAssertFalse(BLAKE3.kernel.isEmpty)
        XCTAssertTrue(BLAKE3.version.contains("."), BLAKE3.version)
    }
}
