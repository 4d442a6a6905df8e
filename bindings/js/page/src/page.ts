// The page: what is dropped goes into a table, and is hashed one file after the other, large ones by all threads.

import { Pool, hashBlob, ready } from "../../src/index.js";
import { chosen, dropped, type Found } from "./files.js";
import { List, line, parse } from "./list.js";

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const [drop, list, verdict, missing, results, rows] = ["drop", "list", "verdict", "missing", "results", "rows"].map($) as [
  HTMLElement, HTMLTextAreaElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement,
];
const bar = $<HTMLProgressElement>("progress");

interface Row extends Found {
  digest?: string;
  error?: string;
  element: HTMLTableRowElement;
}

const all: Row[] = [];
let [next, doneBytes, allBytes] = [0, 0, 0];
let compared = new List([]);
let wrongLines = 0;
let stopping: AbortController | undefined;

/** Files from this size on are hashed by all threads. */
const LARGE = 8 << 20;
let pool: Pool | undefined;

const number = new Intl.NumberFormat("en");
const UNITS = ["B", "KB", "MB", "GB", "TB"];

function size(bytes: number): string {
  let unit = 0;
  while (bytes >= 999.5 && unit < UNITS.length - 1) {
    bytes /= 1000;
    unit++;
  }
  return `${bytes.toFixed(unit === 0 || bytes >= 99.5 ? 0 : 1)} ${UNITS[unit]}`;
}

const files = (count: number) => (count === 1 ? "1 file" : `${number.format(count)} files`);

function cell(row: HTMLTableRowElement, name: string, text: string): HTMLTableCellElement {
  const cell = row.insertCell();
  cell.className = name;
  cell.textContent = text;
  return cell;
}

function add(found: Found[]): void {
  if (found.length === 0) return;
  const fragment = document.createDocumentFragment();
  for (const { path, file } of found) {
    const element = document.createElement("tr");
    cell(element, "name", path);
    cell(element, "size", size(file.size));
    cell(element, "digest", "waits");
    cell(element, "compared", "");
    fragment.append(element);
    all.push({ path, file, element });
    allBytes += file.size;
  }
  rows.append(fragment);
  results.hidden = false;
  judge();
  void run();
}

/** Says how all files compare with the list. */
function judge(): void {
  const hasList = compared.entries.length > 0;
  const counts = { matches: 0, differs: 0, elsewhere: 0, unlisted: 0 };
  const seen = new Set(all.flatMap(({ path }) => compared.of(path)));
  for (const row of all) {
    const place = row.element.cells[3]!;
    if (!row.digest || !hasList) {
      place.textContent = "";
      continue;
    }
    const it = compared.judge(row.path, row.digest);
    counts[it.kind]++;
    if (it.kind === "elsewhere") seen.add(it.entry);
    const texts = { matches: "✓ matches", differs: "✗ differs", unlisted: "not in the list" };
    place.textContent = it.kind === "elsewhere" ? `≈ is ${it.entry.name} in the list` : texts[it.kind];
    place.className = `compared ${{ matches: "good", differs: "bad", elsewhere: "note", unlisted: "note" }[it.kind]}`;
  }
  missing.replaceChildren();
  const parts: string[] = [];
  let isWhole = true;
  const part = (count: number, text: string) => count > 0 && parts.push(`${number.format(count)} ${text}`);
  if (hasList && all.length === 0) {
    part(compared.entries.length, "digests: now choose the files");
  } else if (hasList) {
    const absent = compared.entries.filter((entry) => entry.name !== "" && !seen.has(entry));
    isWhole = counts.matches === all.length && absent.length === 0;
    if (counts.differs > 0) parts.push(`✗ ${files(counts.differs)} ${counts.differs === 1 ? "differs" : "differ"}`);
    parts.push(`${isWhole ? "✓ " : ""}${number.format(counts.matches)} of ${files(all.length)} match`);
    part(counts.elsewhere, "under another name");
    part(counts.unlisted, "not in the list");
    part(absent.length, "of the list without a file (below)");
    for (const { name } of absent.slice(0, 1000)) {
      const item = document.createElement("li");
      item.textContent = name;
      missing.append(item);
    }
  }
  part(wrongLines, `${wrongLines === 1 ? "line is" : "lines are"} not a digest with a name`);
  verdict.className = counts.differs > 0 || wrongLines > 0 ? "bad" : isWhole ? "good" : "note";
  verdict.textContent = parts.join(", ");
}

function speak(text: string): void {
  $("spoken").textContent = text;
}

/** Shows the button that stops or continues. */
function control(): void {
  $("stop").hidden = !stopping && next === all.length;
  $("stop").textContent = stopping ? "Stop" : "Continue";
}

/** Hashes what waits, if nothing does that already. */
async function run(): Promise<void> {
  if (stopping) return;
  const { signal } = (stopping = new AbortController());
  control();
  const began = performance.now();
  const [firstByte, firstRow] = [doneBytes, next];
  let shown = 0;
  const show = (now: number, inFile: number) => {
    shown = now;
    bar.value = allBytes === 0 ? 0 : (doneBytes + inFile) / allBytes;
    const bytes = doneBytes + inFile - firstByte;
    const rate = now > began ? ` · ${size((bytes / (now - began)) * 1000)}/s` : "";
    $("speed").textContent = `${number.format(next)} of ${files(all.length)} · ${size(doneBytes + inFile)} of ${size(allBytes)}${rate}`;
  };
  try {
    await ready();
    while (next < all.length && !signal.aborted) {
      const row = all[next]!;
      const place = row.element.cells[2]!;
      const own = document.createElement("progress");
      own.ariaLabel = row.path;
      if (row.file.size >= LARGE) place.replaceChildren(own);
      const onProgress = (done: number, total: number | undefined) => {
        own.value = done / (total || 1);
        const now = performance.now();
        if (now - shown > 100) show(now, done);
      };
      try {
        let digest;
        if (row.file.size >= LARGE) {
          pool ??= new Pool(Math.min(navigator.hardwareConcurrency || 2, 8));
          digest = await pool.hashBlob(row.file, { signal, onProgress });
        } else {
          digest = await hashBlob(row.file, { signal });
        }
        if (signal.aborted) {
          place.textContent = "waits";
          break;
        }
        row.digest = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
        place.textContent = row.digest;
      } catch (error) {
        if (signal.aborted) {
          place.textContent = "waits";
          break;
        }
        row.error = (error as Error).message;
        place.textContent = row.error;
        place.className = "digest bad";
      }
      doneBytes += row.file.size;
      next++;
      const now = performance.now();
      if (now - shown > 100) {
        show(now, 0);
        if (compared.entries.length > 0) judge();
      }
    }
  } finally {
    show(performance.now(), 0);
    stopping = undefined;
    control();
    judge();
    const failed = all.filter(({ error }) => error).length;
    const text = signal.aborted ? "Stopped." : `${files(next - firstRow)} hashed.`;
    speak(`${text}${failed > 0 ? ` ${files(failed)} cannot be read.` : ""} ${verdict.textContent}`);
  }
  // Files that came while the last one was ending, or after all were cleared.
  if (next < all.length && (!signal.aborted || next === 0)) void run();
}

function lines(): string {
  return all.flatMap(({ digest, path }) => (digest ? [line({ digest, name: path })] : [])).join("");
}

for (const id of ["files", "folder"]) {
  const input = $<HTMLInputElement>(id);
  input.addEventListener("change", () => {
    add(chosen(input.files ?? []));
    // The same files may be chosen again.
    input.value = "";
  });
}
list.addEventListener("input", () => {
  const { entries, wrong } = parse(list.value);
  [compared, wrongLines] = [new List(entries), wrong];
  judge();
});
$("stop").addEventListener("click", () => (stopping ? stopping.abort() : void run()));
$("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(lines());
    speak("The list is in the clipboard.");
  } catch {
    speak("The browser does not allow to copy here: save the list.");
  }
});
$("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines()], { type: "text/plain" }));
  link.download = "digests.b3";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
});
$("clear").addEventListener("click", () => {
  stopping?.abort();
  all.length = 0;
  [next, doneBytes, allBytes] = [0, 0, 0];
  rows.replaceChildren();
  results.hidden = true;
  judge();
  $("files").focus();
});

let depth = 0;
const isFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => isFiles(event) && (depth++, drop.classList.add("over")));
addEventListener("dragleave", (event) => isFiles(event) && --depth === 0 && drop.classList.remove("over"));
addEventListener("dragover", (event) => isFiles(event) && event.preventDefault());
addEventListener("drop", async (event) => {
  if (!isFiles(event)) return;
  event.preventDefault();
  depth = 0;
  drop.classList.remove("over");
  try {
    add(await dropped(event.dataTransfer!));
  } catch (error) {
    speak(`What was dropped cannot be read: ${(error as Error).message}`);
  }
});
