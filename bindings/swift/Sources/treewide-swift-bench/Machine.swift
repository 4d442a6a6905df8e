import Foundation
import Treewide

/// Where a report comes from. What only the build knows is in variables that `scripts/swift.sh bench` sets.
enum Machine {
    static func read(_ path: String) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The first value of `name` in a file of lines `name: value`.
    static func value(_ name: String, in path: String) -> String? {
        for line in (read(path) ?? "").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == name {
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }
        return nil
    }

    /// Bytes of a line such as `VmRSS: 12 kB`.
    static func kilobytes(_ name: String, in path: String) -> UInt64 {
        value(name, in: path)?.split(separator: " ").first.flatMap { UInt64($0) }.map { $0 * 1024 } ?? 0
    }

    static func cache(_ level: Int) -> UInt64 {
        for index in 0..<8 {
            let folder = "/sys/devices/system/cpu/cpu0/cache/index\(index)"
            guard read(folder + "/level") == "\(level)", read(folder + "/type") != "Instruction",
                let size = read(folder + "/size"), let kib = UInt64(size.dropLast())
            else { continue }
            return kib * 1024
        }
        return 0
    }

    static func machine() -> JSON {
        let info = "/proc/cpuinfo"
        var cpu = value("model name", in: info) ?? "unknown CPU"
        if let family = value("cpu family", in: info), let model = value("model", in: info) {
            cpu += ", family \(family) model \(model)"
        }
        let flags = Set((value("flags", in: info) ?? "").split(separator: " ").map(String.init))
        let wanted = ["ssse3", "sse4_1", "sse4_2", "avx", "avx2", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512vbmi"]
        let load = read("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) }
        let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        return .object([
            "cpu": .text(cpu), "cpus": .integer(UInt64(ProcessInfo.processInfo.activeProcessorCount)),
            "cpu_features": .list(wanted.filter(flags.contains).map { .text($0) }),
            "caches": .object(["l1": .integer(cache(1)), "l2": .integer(cache(2)), "l3": .integer(cache(3))]),
            "governor": governor.map { .text($0) } ?? .null,
            "memory_bytes": .integer(ProcessInfo.processInfo.physicalMemory),
            "os": .text(ProcessInfo.processInfo.operatingSystemVersionString),
            "load": load.map { .number($0) } ?? .null,
        ])
    }

    static func build() -> JSON {
        let environment = ProcessInfo.processInfo.environment
        func variable(_ name: String) -> String { environment["TREEWIDE_BENCH_" + name] ?? "unknown" }
        let swift = "\(BLAKE3.version), Swift \(variable("SWIFT"))"
        return .object([
            "version": .text(BLAKE3.version), "commit": .text(variable("COMMIT")),
            "dirty": .bool(variable("DIRTY") != "false"), "rustc": .text(variable("RUSTC")),
            "target": .text(variable("TARGET")), "profile": .text("release, opt-level 3"),
            "features": .list(["file", "gpu", "parallel"].map { .text($0) }),
            "engines": .object([
                "treewide-swift": .text(swift), "treewide-c": .text(BLAKE3.version),
                "treewide-gpu": .text(BLAKE3.version),
            ]),
        ])
    }

    static func memory() -> JSON {
        let status = "/proc/self/status"
        let rss = kilobytes("VmRSS", in: status)
        return .object([
            "rss": .integer(rss), "peak_rss": .integer(max(kilobytes("VmHWM", in: status), rss)),
        ])
    }
}
