// Measures the Swift package, and writes a report that `treewide-bench validate` accepts.

import Foundation
import Treewide
import TreewideGPU

let usage = """
    treewide-swift-bench [--classes LIST] [--budget MS] [--json FILE] [--folder FOLDER] [--software]

      --classes LIST   some of one-shot,steps,streaming,batch,files,gpu; all without this
      --budget MS      the time for a row, 300 without this
      --json FILE      writes a report in the format of treewide-bench
      --folder FOLDER  where the files to hash are made, the temporary folder without this
      --software       also measures a device that is a program on the CPU, such as lavapipe
    """

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("treewide-swift-bench: \(text)\n".utf8))
    exit(2)
}

let known = ["one-shot", "steps", "streaming", "batch", "files", "gpu"]
var classes = known
var budget = 300
var json: String?
var folder = FileManager.default.temporaryDirectory.path
var takesSoftware = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    func value() -> String {
        guard let value = arguments.popFirst() else { fail("\(argument) needs a value\n\n\(usage)") }
        return value
    }
    switch argument {
    case "--classes": classes = value().split(separator: ",").map(String.init)
    case "--json": json = value()
    case "--folder": folder = value()
    case "--software": takesSoftware = true
    case "--budget":
        let text = value()
        guard let number = Int(text), number > 0 else { fail("'\(text)' is not a number of milliseconds") }
        budget = number
    case "--help":
        print(usage)
        exit(0)
    default: fail("there is no '\(argument)'\n\n\(usage)")
    }
}
if let unknown = classes.first(where: { !known.contains($0) }) {
    fail("there is no class '\(unknown)': use \(known.joined(separator: ", "))")
}

let started = Date()
let formatter = ISO8601DateFormatter()
let machine = Machine.machine()
let stream = Stream(16 << 20)
let file = folder + "/treewide-swift-bench-\(ProcessInfo.processInfo.processIdentifier)"
defer {
    for it in ["-\(1 << 20)", "-\(16 << 20)", "-gpu"] { try? FileManager.default.removeItem(atPath: file + it) }
}

do {
    var rows: [Row] = []
    var refused: [(String, String)] = []
    if classes.contains("one-shot") { rows += oneShot(stream) }
    if classes.contains("steps") { rows += steps(stream) }
    if classes.contains("streaming") { rows += streaming(stream) }
    if classes.contains("batch") { rows += batches(stream) }
    if classes.contains("files") { rows += try files(stream, file) }
    if classes.contains("gpu") {
        let found = BLAKE3GPU.devices().first { $0.problem == nil && (takesSoftware || !$0.isSoftware) }
        if let found {
            rows += try devices(stream, file, BLAKE3GPU.makeContext(device: found))
        } else {
            refused.append(("gpu", "there is no GPU that can be used"))
        }
    }
    var measured: [Row.Measured] = []
    for row in rows {
        do {
            let it = try row.measure(budget: budget)
            print(it.line)
            measured.append(it)
        } catch let error as BLAKE3Error {
            print("\(row.id): not measured: \(error)")
            refused.append((row.id, "\(error)"))
        }
    }
    if let json {
        let ratios = measured.map { $0.row.sides.count - 1 }.reduce(0, +)
        let confidence = 0.95
        // So that all intervals hold together.
        let each = 1 - (1 - confidence) / Double(max(ratios, 1))
        let report = JSON.object([
            "schema": .text("treewide-bench/1"),
            "command": .list((["swift"] + CommandLine.arguments.dropFirst()).map { .text($0) }),
            "started": .text(formatter.string(from: started)),
            "seconds": .number((Date().timeIntervalSince(started) * 1000).rounded() / 1000),
            "build": Machine.build(), "machine": machine, "kernel": .text(BLAKE3.kernel),
            "memory": Machine.memory(),
            "settings": .object([
                "seed": .integer(Stream.seed), "confidence": .number(confidence),
                "budget_ms": .integer(UInt64(budget)),
            ]),
            "rows": .list(measured.map { $0.json(confidence: each) }),
            "refused": .list(refused.map { .object(["id": .text($0.0), "reason": .text($0.1)]) }),
        ])
        try Data((report.sealed().compact + "\n").utf8).write(to: URL(fileURLWithPath: json))
    }
    if measured.isEmpty { exit(2) }
} catch {
    fail("\(error)")
}
