// An empty project with the package installed in it, as npm does it from the tarball of `npm pack`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const js = fileURLToPath(new URL("../..", import.meta.url));

export function run(program, args, options = {}) {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });
}

/** Returns the folder of the project, the files of the package, and a function that removes the folder. */
export function install() {
  const folder = mkdtempSync(join(tmpdir(), "treewide-project-"));
  const [{ filename, files, size }] = JSON.parse(run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: js }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
  run("npm", ["install", "--offline", "--no-save", "--no-audit", join(folder, filename)], { cwd: folder });
  return { folder, files: files.map(({ path }) => path), size, remove: () => rmSync(folder, { recursive: true }) };
}
