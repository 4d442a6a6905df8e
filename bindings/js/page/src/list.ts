// Lists of digests, as b3sum and treewide write and read them. Which lines are read how is in
// `crates/treewide-files/tests/lines.json`, for `treewide check` and for this page.

export interface Entry {
  digest: string;
  /** Empty if the line is a digest alone. */
  name: string;
}

const UNTAGGED = /^([0-9a-f]{64}) [ *](.+)$/is;
const TAGGED = /^BLAKE3 \((.+)\) = ([0-9a-fA-F]{64})$/s;
const ALONE = /^([0-9a-f]{64})[ \t]*$/i;

/** The name that has these escapes, unless one of them is wrong. */
function unescape(name: string): string | undefined {
  if (/\\(?:[^\\nr]|$)/.test(name.replace(/\\[\\nr]/g, ""))) return undefined;
  return name.replace(/\\([\\nr])/g, (_, it: string) => ({ "\\": "\\", n: "\n", r: "\r" })[it]!);
}

/** Reads a line: an entry, nothing, or `undefined` if it is not of a list. */
function read(line: string): Entry | "nothing" | undefined {
  if (/^(?:#[ \t].*|#?[ \t]*)$/s.test(line)) return "nothing";
  // A line that begins with a backslash has a name with escapes.
  const isEscaped = line.startsWith("\\");
  const rest = isEscaped ? line.slice(1) : line;
  const alone = ALONE.exec(rest);
  if (alone) return { digest: alone[1]!.toLowerCase(), name: "" };
  const [plain, tagged] = [UNTAGGED.exec(rest), TAGGED.exec(rest)];
  const [digest, written] = plain ? [plain[1]!, plain[2]!] : tagged ? [tagged[2]!, tagged[1]!] : [];
  const name = isEscaped && written ? unescape(written) : written;
  return digest && name ? { digest: digest.toLowerCase(), name } : undefined;
}

/** Reads a list, and counts the lines that are none of it. */
export function parse(text: string): { entries: Entry[]; wrong: number } {
  const lines = text.split(/\r?\n/).map(read);
  const entries = lines.filter((it) => typeof it === "object");
  return { entries, wrong: lines.filter((it) => it === undefined).length };
}

/** One line, as b3sum has it. */
export function line({ digest, name }: Entry): string {
  if (!/[\\\n\r]/.test(name)) return `${digest}  ${name}\n`;
  const escaped = name.replace(/[\\\n\r]/g, (it) => ({ "\\": "\\\\", "\n": "\\n", "\r": "\\r" })[it]!);
  return `\\${digest}  ${escaped}\n`;
}

/** How a file compares with a list. */
export type Verdict = { kind: "matches" | "differs" | "unlisted" } | { kind: "elsewhere"; entry: Entry };

/** A list that answers questions. */
export class List {
  private byDigest = new Map<string, Entry>();
  private byLastPart = new Map<string, Entry[]>();
  private hasNames = false;
  readonly entries: Entry[];

  constructor(entries: Entry[]) {
    this.entries = entries;
    for (const entry of entries) {
      if (!this.byDigest.has(entry.digest)) this.byDigest.set(entry.digest, entry);
      if (entry.name === "") continue;
      this.hasNames = true;
      const last = lastPart(entry.name);
      const same = this.byLastPart.get(last);
      if (same) same.push(entry);
      else this.byLastPart.set(last, [entry]);
    }
  }

  /**
   * The entries of a file. A dropped folder has its own name in front of paths, and a list of another folder may have more or fewer
   * parts: the paths agree as far as the shorter goes. The same path is preferred.
   */
  of(path: string): Entry[] {
    const some = this.byLastPart.get(lastPart(path)) ?? [];
    const exact = some.filter(({ name }) => plain(name) === path);
    if (exact.length > 0) return exact;
    return some.filter(({ name }) => path.endsWith(`/${plain(name)}`) || name.endsWith(`/${path}`));
  }

  judge(path: string, digest: string): Verdict {
    const own = this.of(path);
    // Two digests for one name cannot both be right.
    const isExact = own.some(({ name }) => plain(name) === path);
    const fits = (entry: Entry) => entry.digest === digest;
    if (own.length > 0) return { kind: (isExact ? own.every(fits) : own.some(fits)) ? "matches" : "differs" };
    const entry = this.byDigest.get(digest);
    // Digests alone are those of the files that were chosen.
    if (!entry) return { kind: this.hasNames ? "unlisted" : "differs" };
    return entry.name === "" ? { kind: "matches" } : { kind: "elsewhere", entry };
  }
}

const plain = (name: string) => name.replace(/^\.\//, "");

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
