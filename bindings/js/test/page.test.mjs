// The page as a person uses it: from a file, without a network, with files, a folder and a list.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import test, { after, before, describe } from "node:test";
import { build } from "esbuild";
import { hashHex } from "../dist/index.js";
import { launch, skip } from "./lib/browser.mjs";
import { pattern } from "./lib/vectors.mjs";

const url = new URL("../page/dist/index.html", import.meta.url).href;
// A folder for pictures, to look at them.
const pictures = process.env.PICTURES;

describe("page", { skip }, () => {
  let browser, folder;
  const bytes = { "a.txt": "abc", "b/c d.bin": pattern(100_000), "b/e.bin": pattern(20_000_000), "f.txt": "" };
  const digests = Object.fromEntries(Object.entries(bytes).map(([name, data]) => [name, hashHex(data)]));
  before(async () => {
    browser = await launch();
    folder = join(mkdtempSync(join(tmpdir(), "treewide-page-")), "tree");
    mkdirSync(join(folder, "b"), { recursive: true });
    for (const [name, data] of Object.entries(bytes)) writeFileSync(join(folder, name), data);
  });
  after(async () => {
    await browser?.close();
    if (folder) rmSync(join(folder, ".."), { recursive: true });
  });

  async function open(use, options = {}) {
    const context = await browser.newContext({ offline: true, ...options });
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(url);
    try {
      await use(page);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
    }
  }

  /** Waits until everything is hashed, and returns the rows: name, digest, verdict. */
  async function rows(page) {
    await page.waitForFunction(() => document.querySelector("#stop").hidden && document.querySelectorAll("#rows tr").length > 0);
    return page.$$eval("#rows tr", (all) => all.map(({ cells }) => [cells[0].textContent, cells[2].textContent, cells[3].textContent]));
  }

  test("it hashes a folder, and compares it with a list", { timeout: 60_000 }, async (t) => {
    await open(async (page) => {
      await page.setInputFiles("#folder", folder);
      const expected = Object.entries(digests).map(([name, digest]) => [`tree/${name}`, digest]);
      assert.deepEqual((await rows(page)).map(([name, digest]) => [name, digest]), expected);
      const list = [
        `${digests["a.txt"]}  a.txt`,
        `${"0".repeat(64)}  b/c d.bin`,
        `BLAKE3 (other name) = ${digests["b/e.bin"]}`,
        `${"1".repeat(64)}  gone.txt`,
        "no digest",
      ];
      await page.fill("#list", list.join("\n"));
      assert.deepEqual((await rows(page)).map(([, , verdict]) => verdict), ["✓ matches", "✗ differs", "≈ is other name in the list", "not in the list"]);
      assert.equal(
        await page.textContent("#verdict"),
        "✗ 1 file differs, 1 of 4 files match, 1 under another name, 1 not in the list, 1 of the list without a file (below), 1 line is not a digest with a name",
      );
      assert.deepEqual(await page.$$eval("#missing li", (all) => all.map(({ textContent }) => textContent)), ["gone.txt"]);
      await page.fill("#list", Object.entries(digests).map(([name, digest]) => `${digest}  ./${name}\r\n`).join(""));
      assert.equal(await page.textContent("#verdict"), "✓ 4 of 4 files match");
      const download = page.waitForEvent("download");
      await page.click("#save");
      const stream = await (await download).createReadStream();
      let text = "";
      for await (const chunk of stream) text += chunk;
      assert.equal(text, expected.map(([name, digest]) => `${digest}  ${name}\n`).join(""));
      await page.click("#clear");
      assert.equal(await page.isVisible("#results"), false);
      assert.equal(await page.textContent("#verdict"), "4 digests: now choose the files");
    });
    t.diagnostic("the page, a folder: 4 cases");
  });

  test("it reads a list as `check` does", async (t) => {
    const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL("../page/src/list.ts", import.meta.url))], format: "esm", write: false });
    const { parse, List } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
    const { digest, cases } = JSON.parse(readFileSync(new URL("../../../crates/treewide-files/tests/lines.json", import.meta.url), "utf8"));
    for (const { line, name, none } of cases) {
      const text = line.replace("D", digest);
      const expected = name ? { entries: [{ digest, name }], wrong: 0 } : { entries: [], wrong: none ? 0 : 1 };
      assert.deepEqual(parse(text), expected, text);
    }
    t.diagnostic(`lines of lists: ${cases.length} cases`);
    const other = "0".repeat(64);
    const verdict = (lines, path, of = digest) => new List(parse(lines.join("\n")).entries).judge(path, of).kind;
    for (const name of [" lead", "trail ", "*star", "./here"]) assert.equal(verdict([`${digest}  ${name}`], name.replace("./", "")), "matches");
    assert.equal(verdict([`${digest}  a`, `${other}  a`], "a"), "differs");
    assert.equal(verdict([`${digest}  x/a`, `${other}  y/a`], "a"), "matches");
    assert.equal(verdict([`${digest}  `], "a"), "matches");
    assert.equal(verdict([digest], "a", other), "differs");
    assert.equal(verdict([digest, `${digest}  b`], "a", other), "unlisted");
  });

  test("a file of the list that is not there is named, also if another has its content", async () => {
    await open(async (page) => {
      await page.setInputFiles("#files", join(folder, "a.txt"));
      await rows(page);
      await page.fill("#list", `${digests["a.txt"]}  a.txt\n${digests["a.txt"]}  copy.txt`);
      assert.equal(await page.textContent("#verdict"), "1 of 1 file match, 1 of the list without a file (below)");
      assert.deepEqual(await page.$$eval("#missing li", (all) => all.map(({ textContent }) => textContent)), ["copy.txt"]);
    });
  });

  test("it takes dropped files, stops and continues", { timeout: 60_000 }, async () => {
    await open(async (page) => {
      const data = await page.evaluateHandle(() => {
        const data = new DataTransfer();
        data.items.add(new File(["abc"], "dropped.txt"));
        data.items.add(new File([new Uint8Array(60_000_000)], "large.bin"));
        return data;
      });
      await page.dispatchEvent("body", "dragenter", { dataTransfer: data });
      assert.equal(await page.evaluate(() => document.querySelector("#drop").className), "over");
      // In the page, because a click from here may come after the end.
      await page.evaluate(() => {
        new MutationObserver((_, observer) => {
          if (!document.querySelector("#rows tr:nth-child(2) progress")) return;
          observer.disconnect();
          document.querySelector("#stop").click();
        }).observe(document.querySelector("#rows"), { childList: true, subtree: true });
      });
      await page.dispatchEvent("body", "drop", { dataTransfer: data });
      await page.waitForFunction(() => document.querySelector("#stop").textContent === "Continue");
      assert.match(await page.textContent("#spoken"), /^Stopped\./);
      await page.click("#stop");
      assert.deepEqual((await rows(page)).map(([, digest]) => digest), [digests["a.txt"], hashHex(new Uint8Array(60_000_000))]);
      assert.match(await page.textContent("#spoken"), /^1 file hashed\./);
    });
  });

  test("a file that changes says so in its row, and the next one is hashed", { timeout: 60_000 }, async () => {
    await open(async (page) => {
      const paths = ["x.bin", "y.bin"].map((name) => join(folder, "..", name));
      for (const path of paths) writeFileSync(path, pattern(1_000_000));
      const input = await page.$("#files");
      // Chosen, and cut off before it is read.
      await page.evaluate(() => document.querySelector("#files").addEventListener("change", (event) => event.stopImmediatePropagation(), { capture: true, once: true }));
      await input.setInputFiles(paths);
      truncateSync(paths[0], 10);
      await page.evaluate(() => document.querySelector("#files").dispatchEvent(new Event("change")));
      const [[, first], [, second]] = await rows(page);
      assert.match(first, /^`x.bin' (cannot be read at byte|ended while)/);
      assert.equal(second, hashHex(pattern(1_000_000)));
    });
  });

  test("a keyboard reaches everything, in an order that makes sense", async () => {
    await open(async (page) => {
      await page.setInputFiles("#files", join(folder, "a.txt"));
      await rows(page);
      const seen = [];
      for (let press = 0; press < 6; press++) {
        await page.keyboard.press("Tab");
        seen.push(await page.evaluate(() => document.activeElement.id));
      }
      assert.deepEqual(seen, ["files", "folder", "list", "copy", "save", "clear"]);
      // Each has a name for screen readers.
      const names = await page.$$eval("input, textarea, button, progress", (all) =>
        all.map((it) => it.labels?.[0]?.textContent || it.ariaLabel || it.getAttribute("aria-label") || it.textContent));
      assert.ok(names.every((name) => name.trim().length > 3), String(names));
    });
  });

  for (const [size, viewport] of Object.entries({ desktop: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } })) {
    for (const colorScheme of ["light", "dark"]) {
      test(`nothing is wider than the screen: ${size}, ${colorScheme}`, async () => {
        await open(async (page) => {
          await page.setInputFiles("#folder", folder);
          await rows(page);
          await page.fill("#list", `${digests["a.txt"]}  a.txt\n${"0".repeat(64)}  b/c d.bin\n${digests["b/e.bin"]}  ${"a-long-name-".repeat(12)}`);
          const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
          assert.ok(content <= screen, `${content} > ${screen}`);
          if (pictures) await page.screenshot({ path: join(pictures, `${size}-${colorScheme}.png`), fullPage: true });
        }, { viewport, colorScheme });
      });
    }
  }
});
