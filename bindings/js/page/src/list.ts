// Lists of digests, as b3sum and treewide write and read them.

export interface Entry {
  digest: string;
  /** Empty if the line is a digest alone. */
  name: string;
}

const unescape = (name: string) => name.replace(/\\([\\nr])/g, (_, it: string) => ({ "\\": "\\", n: "\n", r: "\r" })[it]!);

/** Reads a list, and counts the lines that are none of it. */
export function parse(text: string): { entries: Entry[]; wrong: number } {
  const entries: Entry[] = [];
  let wrong = 0;
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    // A line that begins with a backslash has a name with escapes.
    const isEscaped = line.startsWith("\\");
    const rest = isEscaped ? line.slice(1) : line;
    const plain = /^([0-9a-f]{64})(?:\s+\*?(.+))?$/i.exec(rest);
    const tagged = /^BLAKE3 \((.+)\) = ([0-9a-f]{64})$/i.exec(rest);
    const [digest, name] = plain ? [plain[1]!, plain[2] ?? ""] : tagged ? [tagged[2]!, tagged[1]!] : ["", ""];
    if (!digest) wrong++;
    else entries.push({ digest: digest.toLowerCase(), name: (isEscaped ? unescape(name) : name).replace(/^\.\//, "") });
  }
  return { entries, wrong };
}

/** One line, as b3sum has it. */
export function line({ digest, name }: Entry): string {
  if (!/[\\\n\r]/.test(name)) return `${digest}  ${name}\n`;
  const escaped = name.replace(/[\\\n\r]/g, (it) => ({ "\\": "\\\\", "\n": "\\n", "\r": "\\r" })[it]!);
  return `\\${digest}  ${escaped}\n`;
}

/** How a file stands to a list. */
export type Verdict = { kind: "matches" } | { kind: "differs" } | { kind: "elsewhere"; name: string } | { kind: "unlisted" };

/** A list that answers questions. */
export class List {
  private byDigest = new Map<string, Entry>();
  private byLastPart = new Map<string, Entry[]>();
  readonly entries: Entry[];

  constructor(entries: Entry[]) {
    this.entries = entries;
    for (const entry of entries) {
      if (!this.byDigest.has(entry.digest)) this.byDigest.set(entry.digest, entry);
      if (entry.name === "") continue;
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
    const exact = some.filter(({ name }) => name === path);
    if (exact.length > 0) return exact;
    return some.filter(({ name }) => path.endsWith(`/${name}`) || name.endsWith(`/${path}`));
  }

  judge(path: string, digest: string): Verdict {
    const own = this.of(path);
    if (own.some((entry) => entry.digest === digest)) return { kind: "matches" };
    const other = this.byDigest.get(digest);
    if (own.length > 0) return { kind: "differs" };
    if (other) return other.name === "" ? { kind: "matches" } : { kind: "elsewhere", name: other.name };
    return { kind: "unlisted" };
  }
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
