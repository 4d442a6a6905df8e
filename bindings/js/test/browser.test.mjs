import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import test, { after, before, describe } from "node:test";
import { launch, serve, skip } from "./lib/browser.mjs";
import { vectors } from "./lib/vectors.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));
const answers = JSON.stringify(vectors("lengths.json"));
const STRICT = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

// In a page: a module that exports what the test calls.
const MAIN = `
import * as treewide from "/dist/index.js";
import { everyLength } from "/test/lib/lengths.mjs";
globalThis.tests = { ...treewide, everyLength };
`;
const WORKER = `
import { hashHex } from "/dist/index.js";
// No await: workers compile at the first call.
postMessage(hashHex("abc"));
`;

describe("Chromium", { skip }, () => {
  let browser;
  before(async () => (browser = await launch()));
  after(() => browser?.close());

  /** Opens a page under a policy, and calls \`use\` with it. */
  async function open(policy, use) {
    const errors = [];
    const pages = { "/": '<!doctype html><script type="module" src="/main.js"></script>', "/main.js": MAIN, "/worker.js": WORKER, "/answers.json": answers };
    const server = await serve(folder, { pages, headers: { "content-security-policy": policy } });
    const page = await browser.newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    try {
      await page.goto(server.url);
      await page.waitForFunction("globalThis.tests");
      await use(page);
      assert.deepEqual(errors, []);
    } finally {
      await page.close();
      server.close();
    }
  }

  test("every length from 0 to 70,000, under a policy with nothing but wasm-unsafe-eval", { timeout: 120_000 }, async (t) => {
    await open(STRICT, async (page) => {
      const cases = await page.evaluate(async () => {
        const { everyLength, ...treewide } = globalThis.tests;
        await Promise.all([treewide.ready(), treewide.ready()]);
        const answers = await (await fetch("/answers.json")).json();
        return everyLength(treewide, answers, ["hash"]);
      });
      t.diagnostic(`lengths in Chromium: ${cases} cases`);
    });
  });

  test("a policy without wasm-unsafe-eval is named", async () => {
    await open("default-src 'none'; script-src 'self'", async (page) => {
      const messages = await page.evaluate(async () => {
        const { ready, hash } = globalThis.tests;
        const message = await ready().then(String, (error) => error.message);
        try {
          return [message, String(hash("abc"))];
        } catch (error) {
          return [message, error.message];
        }
      });
      for (const message of messages) assert.match(message, /^treewide cannot be compiled here: .* 'wasm-unsafe-eval'/);
    });
  });

  test("a worker hashes at once, without ready", async () => {
    await open(`${STRICT}; worker-src 'self'`, async (page) => {
      const digest = await page.evaluate(
        () => new Promise((resolve) => (new Worker("/worker.js", { type: "module" }).onmessage = ({ data }) => resolve(data))),
      );
      assert.equal(digest, "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
    });
  });

  /** Hashes a blob alone and by a pool, in the page. */
  const both = async (create) => {
    const { hashBlob, Pool, hashHex } = globalThis.tests;
    const bytes = Uint8Array.from({ length: 9_000_000 }, (_, index) => index % 251);
    const blob = new Blob([bytes]);
    const pool = new Pool(2, create ? { createWorker: () => new Worker("/dist/worker.js", { type: "module" }) } : {});
    const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    try {
      return [hashHex(bytes), hex(await hashBlob(blob)), hex(await pool.hashBlob(blob))];
    } catch (error) {
      return error.message;
    } finally {
      pool.close();
    }
  };

  test("a pool starts its own workers where the policy allows blobs", async () => {
    await open(`${STRICT}; worker-src blob:`, async (page) => {
      const digests = await page.evaluate(both, false);
      assert.equal(new Set(digests).size, 1, String(digests));
    });
  });

  test("a pool takes workers of the page's own, and says so where it cannot start others", async () => {
    await open(`${STRICT}; worker-src 'self'`, async (page) => {
      const digests = await page.evaluate(both, true);
      assert.equal(new Set(digests).size, 1, String(digests));
      assert.match(await page.evaluate(both, false), /createWorker/);
    });
  });

  test("a blob whose stream fails is read in slices, or says why not", async () => {
    await open(STRICT, async (page) => {
      const [digest, whole, unreadable, short] = await page.evaluate(async () => {
        const { hash, hashBlob, ready } = globalThis.tests;
        await ready();
        const bytes = Uint8Array.from({ length: 5_000_000 }, (_, index) => index % 251);
        // A stream of 1,000 bytes.
        const create = (end) => {
          const pieces = [bytes.slice(0, 400), bytes.slice(400, 1000)];
          const pull = (controller) => (pieces.length > 0 ? controller.enqueue(pieces.shift()) : end(controller));
          return Object.assign(new Blob([bytes]), { stream: () => new ReadableStream({ pull }) });
        };
        const fails = (controller) => controller.error(new TypeError("network error"));
        const gone = Object.assign(create(fails), { slice: () => ({ arrayBuffer: () => Promise.reject(new Error("gone")) }) });
        const message = (blob) => hashBlob(blob).then(String, (error) => error.message);
        return [
          await message(create(fails)),
          String(hash(bytes)),
          await message(gone),
          await message(create((controller) => controller.close())),
        ];
      });
      assert.equal(digest, whole);
      assert.equal(unreadable, "the blob cannot be read at byte 1000: if it was changed, choose it again");
      assert.equal(short, "the blob ended while it was being read, at byte 1000: choose it again");
    });
  });

  test("a file that changes while its stream is read is an error", async () => {
    const folder = mkdtempSync(join(tmpdir(), "treewide-changes-"));
    const path = join(folder, "x.bin");
    writeFileSync(path, Buffer.alloc(9_000_000, 7));
    try {
      await open(`${STRICT}; worker-src blob:`, async (page) => {
        await page.exposeFunction("append", () => appendFileSync(path, "more"));
        await page.evaluate(() => document.body.append(Object.assign(document.createElement("input"), { type: "file" })));
        await page.setInputFiles("input", path);
        const results = await page.evaluate(async () => {
          const { hashBlob, hashHex, ready } = globalThis.tests;
          await ready();
          const [file] = document.querySelector("input").files;
          const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
          const results = [hex(await hashBlob(file)) === hashHex(new Uint8Array(9_000_000).fill(7))];
          // All bytes as they were, and then it changes.
          const { body } = new Response(new Uint8Array(9_000_000).fill(7));
          file.stream = () => body.pipeThrough(new TransformStream({ flush: () => globalThis.append() }));
          return [...results, await hashBlob(file).then(String, (error) => error.message)];
        });
        const changed = (byte) => `\`x.bin' cannot be read at byte ${byte}: if it was changed, choose it again`;
        assert.deepEqual(results, [true, changed(8_999_999)]);
        // A smaller one, which is read as one slice.
        writeFileSync(path, Buffer.alloc(100_000, 7));
        await page.setInputFiles("input", path);
        const small = await page.evaluate(async () => {
          const { hashBlob } = globalThis.tests;
          const [file] = document.querySelector("input").files;
          const slice = file.slice.bind(file);
          file.slice = (from, to) => {
            file.slice = slice;
            const part = slice(from, to);
            return { arrayBuffer: () => part.arrayBuffer().finally(() => globalThis.append()) };
          };
          return hashBlob(file).then(String, (error) => error.message);
        });
        assert.equal(small, changed(99_999));
        // A pool, whose workers read parts.
        writeFileSync(path, Buffer.alloc(9_000_000, 7));
        await page.setInputFiles("input", path);
        // Chromium looks at a file when it is asked about it first, and takes the file that it then finds as chosen.
        assert.equal(await page.evaluate(() => document.querySelector("input").files[0].size), 9_000_000);
        appendFileSync(path, "more");
        const parts = await page.evaluate(async () => {
          const pool = new globalThis.tests.Pool(1);
          const [file] = document.querySelector("input").files;
          return pool.hashBlob(file).then(String, (error) => error.message).finally(() => pool.close());
        });
        // Whichever of its parts is read first.
        assert.match(parts, /^`x\.bin' cannot be read at byte (0|4194304|8388608): if it was changed, choose it again$/);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("streams and blobs of the browser", async () => {
    await open(STRICT, async (page) => {
      const [streamed, blob, whole] = await page.evaluate(async () => {
        const { hash, hashBlob, hashStream, ready } = globalThis.tests;
        await ready();
        const { body } = await fetch("/answers.json");
        const text = await (await fetch("/answers.json")).text();
        return [await hashStream(body), await hashBlob(new File([text], "answers")), hash(text)].map(String);
      });
      assert.equal(streamed, whole);
      assert.equal(blob, whole);
      assert.ok(readFileSync(new URL("../dist/index.js", import.meta.url), "utf8").indexOf("import.meta") < 0);
    });
  });
});
