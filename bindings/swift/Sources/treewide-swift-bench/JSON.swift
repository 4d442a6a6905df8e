import Treewide

/// JSON as `treewide-bench` writes it: compact, names in order. Its seal is the digest of exactly that text.
enum JSON {
    case null
    case bool(Bool)
    case integer(UInt64)
    case number(Double)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    var compact: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        // From 1e-4 to 9e15, the range of all that is measured, both write the shortest text that reads back.
        case .number(let value): "\(value)"
        case .text(let text): JSON.quoted(text)
        case .list(let list): "[" + list.map(\.compact).joined(separator: ",") + "]"
        case .object(let fields):
            "{"
                + fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                .map { JSON.quoted($0.key) + ":" + $0.value.compact }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            switch character {
            case "\"", "\\": quoted += "\\" + String(character)
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case _ where character.value < 0x20:
                let digits = String(character.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted + "\""
    }

    /// The same object with the field `seal`, the digest of all the rest.
    func sealed() -> JSON {
        guard case .object(var fields) = self else { return self }
        fields["seal"] = .text(BLAKE3.hash(Array(compact.utf8)).hex)
        return .object(fields)
    }
}
