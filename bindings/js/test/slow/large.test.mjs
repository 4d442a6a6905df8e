// A file of 4 GiB in the page: its digest, and the memory of all processes of the browser.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Hasher } from "../../dist/index.js";
import { launch, skip } from "../lib/browser.mjs";

const SIZE = 4 * 2 ** 30;
/** Megabytes that the browser may take in addition while it hashes: some slices for each worker. A guess. */
const MOST = 400;

test("the page hashes a file of 4 GiB without growing memory", { skip, timeout: 900_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "treewide-large-"));
  const browser = await launch();
  try {
    const path = join(folder, "large.bin");
    writeFileSync(path, "");
    // Sparse: zeros that take no place.
    truncateSync(path, SIZE);
    const session = await browser.newBrowserCDPSession();
    const megabytes = async () => {
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      let sum = 0;
      for (const { id } of processInfo) {
        try {
          sum += Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) / 1000;
        } catch {
          // It has ended.
        }
      }
      return sum;
    };
    const page = await browser.newPage();
    await page.goto(new URL("../../page/dist/index.html", import.meta.url).href);
    await page.setInputFiles("#files", path);
    let [first, most] = [0, 0];
    for (let done = 0; done < 1; ) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      const now = await megabytes();
      done = await page.$eval("#progress", ({ value }) => value);
      // From a twentieth on, workers have what they need.
      if (done >= 0.05) first ||= now;
      most = Math.max(most, now);
    }
    const speed = await page.textContent("#speed");
    const digest = await page.waitForFunction(() => /^[0-9a-f]{64}$/.exec(document.querySelector("#rows .digest").textContent)?.[0]);
    const hasher = new Hasher();
    const zeros = new Uint8Array(2 ** 24);
    for (let at = 0; at < SIZE; at += zeros.length) hasher.update(zeros);
    assert.equal(await digest.jsonValue(), hasher.digestHex());
    t.diagnostic(`${speed}; memory ${first.toFixed(0)} MB at the start, ${most.toFixed(0)} MB at most`);
    assert.ok(most < first + MOST, `${first} MB became ${most} MB`);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
});
