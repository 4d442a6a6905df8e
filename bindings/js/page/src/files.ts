// Files that are dropped or chosen, with their paths in a folder.

export interface Found {
  path: string;
  file: File;
}

/** Files of an input, in the order of their paths. */
export function chosen(files: Iterable<File>): Found[] {
  return sorted(Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file })));
}

function sorted(found: Found[]): Found[] {
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** Files that were dropped, and all files in dropped folders. */
export async function dropped(data: DataTransfer): Promise<Found[]> {
  // The items are there only until the first await.
  const entries = Array.from(data.items, (item) => item.webkitGetAsEntry?.()).filter((entry) => entry != null);
  if (entries.length === 0) return chosen(data.files);
  const found: Found[] = [];
  for (const entry of entries) await walk(entry, "", found);
  return sorted(found);
}

async function walk(entry: FileSystemEntry, folder: string, found: Found[]): Promise<void> {
  const path = folder + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A hundred at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) await walk(inner, `${path}/`, found);
  }
}
