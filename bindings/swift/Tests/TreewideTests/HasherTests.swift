import CTreewide
import Foundation
import Treewide
import XCTest

final class HasherTests: XCTestCase {
    func testEveryLength() throws {
        let input = pattern(9000)
        var cases = 0
        for (mode, c) in try modes() {
            var c = c
            for count in 0...input.count {
                let part = input[..<count]
                let expected = fromC(&c, part)
                if BLAKE3.hash(part, mode: mode).bytes != expected { XCTFail("\(count) bytes") }
                var hasher = BLAKE3.Hasher(mode: mode)
                hasher.update(part)
                if hasher.finalize().bytes != expected { XCTFail("\(count) bytes in pieces") }
                cases += 2
            }
        }
        print("swift/every length: \(cases) cases")
    }

    func testRandomSplits() throws {
        var numbers = Numbers(state: 88_172_645_463_325_252)
        let input = pattern(3_000_000)
        for (mode, c) in try modes() {
            var c = c
            for _ in 0..<100 {
                let count = Int.random(in: 0...(Bool.random(using: &numbers) ? 5000 : 200_000), using: &numbers)
                var hasher = BLAKE3.Hasher(mode: mode)
                var left = input[..<count]
                while !left.isEmpty {
                    let take = Int.random(in: 0...min(left.count, 20_000), using: &numbers)
                    let piece = left.prefix(take)
                    switch Int.random(in: 0..<5, using: &numbers) {
                    case 0: hasher.update(piece)
                    case 1: hasher.update(Data(piece))
                    case 2: hasher.update(data: Array(piece))
                    case 3: hasher.updateParallel(piece)
                    default: piece.withUnsafeBytes { hasher.update(bufferPointer: $0) }
                    }
                    left = left.dropFirst(take)
                }
                XCTAssertEqual(hasher.count, UInt64(count))
                XCTAssertEqual(hasher.finalize().bytes, fromC(&c, input[..<count]))
            }
            // What several threads hash.
            XCTAssertEqual(BLAKE3.hashParallel(input, mode: mode).bytes, fromC(&c, input))
            var hasher = BLAKE3.Hasher(mode: mode)
            hasher.updateParallel(input)
            XCTAssertEqual(hasher.finalize().bytes, fromC(&c, input))
        }
        XCTAssertEqual(BLAKE3.hashParallel(input), BLAKE3.hash(input))
    }

    func testShortPieces() throws {
        var numbers = Numbers(state: 2_463_534_242)
        let input = pattern(200_000)
        for (mode, c) in try modes() {
            var c = c
            for piece in [1, 7, 64, 1000, 5000, 20_000] {
                var hasher = BLAKE3.Hasher(mode: mode)
                var copies: [BLAKE3.Hasher] = []
                let count = min(input.count, piece * 300)
                for at in stride(from: 0, to: count, by: piece) {
                    let part = input[at..<min(at + piece, count)]
                    hasher.update(part)
                    let end = part.endIndex
                    XCTAssertEqual(hasher.count, UInt64(end))
                    switch Int.random(in: 0..<60, using: &numbers) {
                    case 0: copies.append(hasher)
                    case 1: XCTAssertEqual(hasher.finalize().bytes, fromC(&c, input[..<end]))
                    case 2: hasher = try BLAKE3.Hasher(state: hasher.toState())
                    case 3:
                        var reader = hasher.finalizeXOF()
                        XCTAssertEqual(reader.read(count: 40), fromC(&c, input[..<end], count: 40))
                    case 4:
                        var copy = hasher
                        copy.updateParallel(input)
                        XCTAssertEqual(copy.finalize().bytes, fromC(&c, input[..<end] + input))
                        copy.reset()
                        copy.update(input[..<9])
                        XCTAssertEqual(copy.finalize().bytes, fromC(&c, input[..<9]))
                    default: break
                    }
                }
                for var copy in copies + [hasher] {
                    let end = Int(copy.count)
                    XCTAssertEqual(copy.finalize().bytes, fromC(&c, input[..<end]))
                    copy.update(input[end...])
                    XCTAssertEqual(copy.finalize().bytes, fromC(&c, input))
                }
            }
        }
    }

    func testDataInRegions() {
        var dispatch = DispatchData.empty
        var hasher = BLAKE3.Hasher()
        for piece in [pattern(10), pattern(3000), pattern(1)] {
            piece.withUnsafeBytes { dispatch.append($0) }
        }
        hasher.update(data: dispatch)
        XCTAssertEqual(hasher.finalize(), BLAKE3.hash(pattern(10) + pattern(3000) + pattern(1)))
    }

    #if compiler(>=6.2)
    func testRawSpan() {
        let input = pattern(5000)
        var hasher = BLAKE3.Hasher()
        hasher.update(bytes: input.span.bytes)
        XCTAssertEqual(hasher.finalize(), BLAKE3.hash(input))
    }
    #endif

    func testCopiesAreIndependent() {
        for count in [0, 1, 63, 64, 65, 1024, 5000] {
            var first = BLAKE3.Hasher()
            first.update(pattern(count))
            var second = first
            let before = first.finalize()
            second.update([1, 2, 3])
            XCTAssertEqual(first.finalize(), before)
            XCTAssertEqual(first.count, UInt64(count))
            XCTAssertEqual(second.finalize(), BLAKE3.hash(pattern(count) + [1, 2, 3]))
            first.update([1, 2, 3])
            XCTAssertEqual(first.finalize(), second.finalize())
            var reader = first.finalizeXOF()
            let copy = reader
            _ = reader.read(count: 100)
            XCTAssertEqual(copy.position, 0)
            XCTAssertEqual(reader.position, 100)
            // A reader does not follow its hasher.
            first.update([4])
            reader.seek(to: 0)
            XCTAssertEqual(reader.read(count: 32), second.finalize().bytes)
            first.reset()
            XCTAssertEqual(first.finalize(), BLAKE3.hash([UInt8]()))
        }
    }

    func testHashersInClosuresAndTasks() async {
        var hasher = BLAKE3.Hasher()
        hasher.update(pattern(700))
        let start = hasher
        let digests = await withTaskGroup(of: (Int, BLAKE3.Digest).self) { group in
            for i in 0..<50 {
                group.addTask {
                    var copy = start
                    copy.update(pattern(i))
                    return (i, copy.finalize())
                }
            }
            return await group.reduce(into: [Int: BLAKE3.Digest]()) { $0[$1.0] = $1.1 }
        }
        for i in 0..<50 { XCTAssertEqual(digests[i], BLAKE3.hash(pattern(700) + pattern(i))) }
    }

    func testState() throws {
        let input = pattern(300_000)
        for (mode, c) in try modes() {
            var c = c
            for at in [0, 1, 64, 1023, 1024, 1025, 4096, 77_777, 300_000] {
                var hasher = BLAKE3.Hasher(mode: mode)
                hasher.update(input[..<at])
                let state = hasher.toState()
                XCTAssertTrue((188...Int(TREEWIDE_STATE_MAX)).contains(state.count))
                var other = try BLAKE3.Hasher(state: Data(state))
                XCTAssertEqual(other.count, UInt64(at))
                other.update(input[at...])
                XCTAssertEqual(other.finalize().bytes, fromC(&c, input))
                for damaged in [Array(state.dropLast()), state + [0], [], state.map { $0 ^ 1 }] {
                    XCTAssertThrowsError(try BLAKE3.Hasher(state: damaged)) {
                        guard case BLAKE3Error.invalidState(let reason) = $0 else {
                            return XCTFail("\($0)")
                        }
                        XCTAssertTrue(reason.contains("saved state"), reason)
                    }
                }
            }
        }
    }

    func testOutput() throws {
        var hasher = BLAKE3.Hasher()
        hasher.update(pattern(2000))
        let whole = try BLAKE3.hash(pattern(2000), outputByteCount: 1000)
        var reader = hasher.finalizeXOF()
        XCTAssertEqual(reader.read(count: 0), [])
        XCTAssertEqual(reader.read(count: 7) + reader.read(count: 993), whole)
        for at in 0..<200 {
            reader.seek(to: UInt64(at))
            XCTAssertEqual(reader.read(count: 70), Array(whole[at..<at + 70]))
        }
        var filled = [UInt8](repeating: 0, count: 50)
        filled.withUnsafeMutableBytes { hasher.finalize(into: $0) }
        XCTAssertEqual(filled, Array(whole[..<50]))
        XCTAssertThrowsError(try BLAKE3.hash(pattern(1), outputByteCount: -1)) {
            XCTAssertEqual($0 as? BLAKE3Error, .invalidOutputLength(-1))
        }
    }

    func testKeys() throws {
        for count in [0, 31, 33] {
            XCTAssertThrowsError(try BLAKE3.keyedHash(key: pattern(count), input: [1])) {
                XCTAssertEqual($0 as? BLAKE3Error, .invalidKeyLength(count))
                XCTAssertEqual("\($0)", "a key has 32 bytes, not \(count)")
            }
            XCTAssertThrowsError(try BLAKE3.Hasher(key: pattern(count)))
        }
        // Nothing that is printed contains the key.
        let hasher = try BLAKE3.Hasher(key: [UInt8](repeating: 7, count: 32))
        var shown = ""
        dump(hasher, to: &shown)
        dump(try BLAKE3.Mode.keyed([UInt8](repeating: 7, count: 32)), to: &shown)
        dump(hasher.finalizeXOF(), to: &shown)
        XCTAssertFalse(shown.contains("117901063") || shown.contains("opaque"), shown)
        XCTAssertEqual("\(hasher)", "BLAKE3.Hasher(count: 0)")
    }
}
