// Chromium for tests: the one of this machine, driven by playwright-core. Where there is none, tests are skipped.
import { execFileSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

function find() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of NAMES) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // The next one.
    }
  }
}

const executablePath = find();

/** Why no browser can be started, for the option `skip` of a test; `false` if one can. */
export const skip = executablePath ? false : "there is no chromium on this machine; CHROMIUM names one elsewhere";

export const launch = (options = {}) => chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"], ...options });

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json", ".map": "application/json" };

/** Serves a folder; `pages` are texts under other paths, and `headers` go with everything. */
export async function serve(folder, { pages = {}, headers = {} } = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const type = TYPES[extname(path)] ?? "text/html";
    if (path in pages) return response.writeHead(200, { "content-type": type, ...headers }).end(pages[path]);
    try {
      const file = join(folder, path);
      if (!(await stat(file)).isFile()) throw new Error("a folder");
      response.writeHead(200, { "content-type": type, ...headers });
      createReadStream(file).pipe(response);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) };
}
