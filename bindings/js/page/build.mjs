// The page as one file: the script with the module, and the style, are in it, and its policy allows these and nothing else.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const read = (name) => readFileSync(new URL(`src/${name}`, import.meta.url), "utf8");
const allow = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Writes `page/dist/index.html`; `bundle` makes a script of an entry. */
export async function page(bundle) {
  // `</script>` in it would end the element.
  const script = (await bundle("page/src/page.ts")).replaceAll("</script", "<\\/script");
  const style = read("page.css");
  const policy = `default-src 'none'; script-src ${allow(script)} 'wasm-unsafe-eval'; style-src ${allow(style)}; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'`;
  const parts = { policy, style, script };
  const html = read("index.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  mkdirSync(new URL("dist/", import.meta.url), { recursive: true });
  const path = fileURLToPath(new URL("dist/index.html", import.meta.url));
  writeFileSync(path, html);
  console.log(`page: ${path}, ${(html.length / 1000).toFixed(1)} KB`);
}
