// Builds the package into `dist/`: the module by cargo, then the JavaScript around it and the types. And the page,
// `page/dist/index.html`.
//
//   node build.mjs

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const dist = join(here, "dist");
const target = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "js");
const TRIPLE = "wasm32-unknown-unknown";

function fail(message) {
  console.error(`build.mjs: ${message}`);
  process.exit(1);
}

/** Runs a program, which says itself why it fails. */
function run(program, args, options = {}) {
  try {
    return execFileSync(program, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "inherit", "inherit"], ...options });
  } catch (error) {
    fail(error.code === "ENOENT" ? `there is no ${program}: install Rust from https://rustup.rs, then run this again` : `${program} failed, see above`);
  }
}

/** Makes sure that rustc has the target; rustup can install it. */
function needTarget() {
  const has = () => existsSync(join(run("rustc", ["--print", "sysroot"], { stdio: ["ignore", "pipe", "inherit"] }).trim(), "lib/rustlib", TRIPLE));
  if (has()) return;
  try {
    execFileSync("rustup", ["target", "add", TRIPLE], { cwd: root, stdio: "inherit" });
  } catch {
    // Rust of a distribution has no rustup, and one without a network cannot install.
  }
  if (!has()) fail(`rustc has no target ${TRIPLE}: run \`rustup target add ${TRIPLE}\`, or install your distribution's package of it; then run this again`);
}

const { build } = await import("esbuild").catch(() => fail("esbuild is missing: run `npm ci --ignore-scripts` in bindings/js, then run this again"));

/** What the module uses of WebAssembly, all of it in every engine with `WebAssembly.Module` since 2023. */
const FEATURES = ["simd", "bulk-memory", "mutable-globals", "nontrapping-float-to-int", "sign-ext", "multivalue", "reference-types"];

/** The module of WebAssembly. */
function compile() {
  const args = ["build", "--quiet", "--locked", "-p", "treewide-wasm", "--lib", "--profile", "wasm", "--target", TRIPLE, "--target-dir", join(target, "simd")];
  run("cargo", args, { env: { ...process.env, CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS: "-Ctarget-feature=+simd128" } });
  const strip = ["--strip-debug", "--strip-producers", "--strip-target-features"];
  const built = join(target, "simd", TRIPLE, "wasm/treewide_wasm.wasm");
  run(join(here, "node_modules/.bin/wasm-opt"), ["-O3", ...strip, ...FEATURES.map((name) => `--enable-${name}`), built, "-o", join(dist, "module.wasm")]);
  return readFileSync(join(dist, "module.wasm"));
}

/** The shift for which the text of this module compresses best. */
const SHIFT = 4;

/** Writes a module as `src/unpack.ts` reads it. */
function text(bytes) {
  const codes = [];
  for (const byte of bytes) {
    const number = (byte + SHIFT) % 256;
    if (number >= 90) codes.push(124 + Math.floor(number / 90));
    codes.push(35 + (number % 90));
  }
  return Buffer.from(codes).toString("latin1");
}

/** Gives bundles what `src/module.d.ts` declares. */
function given(modules) {
  return {
    name: "given",
    setup(build) {
      build.onResolve({ filter: /^treewide:/ }, ({ path }) => ({ path, namespace: "given" }));
      build.onLoad({ filter: /.*/, namespace: "given" }, ({ path }) => ({ contents: `export const text = ${JSON.stringify(modules[path])};` }));
    },
  };
}

// A line for the module: engines print the whole line of an error that is not caught.
const common = { bundle: true, format: "esm", target: "es2022", minify: true, keepNames: false, lineLimit: 1000, absWorkingDir: here, logLevel: "warning" };

async function bundle(entry, out, module, worker, more = {}) {
  const plugins = [given({ "treewide:module": module, "treewide:worker": worker })];
  const result = await build({
    ...common,
    entryPoints: [join("src", entry)],
    outfile: join(dist, out),
    sourcemap: "linked",
    plugins,
    ...more,
  });
  return result.outputFiles?.[0].text;
}

needTarget();
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const bytes = compile();
const module = text(bytes);
// A worker of a pool gets the compiled module, so its program has none.
const worker = await bundle("worker.ts", "worker.js", "", "", { write: false, sourcemap: false, format: "iife" });
await bundle("worker.ts", "worker.js", "", "");
await bundle("index.ts", "index.js", module, worker);
// These share the module with `treewide` itself.
const shared = {
  name: "shared",
  setup: (build) => build.onResolve({ filter: /^\.\.\/index\.js$/ }, () => ({ path: "./index.js", external: true })),
};
await bundle("blake3-wasm/browser.ts", "blake3-wasm.js", "", "", { plugins: [shared] });
await bundle("blake3-wasm/node.ts", "blake3-wasm.node.js", "", "", { plugins: [shared], platform: "node" });
run(join(here, "node_modules/.bin/tsc"), ["-p", "tsconfig.json"], { cwd: here });
for (const license of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, license), join(here, license));

const size = (what, bytes) => `${what} ${(bytes.length / 1000).toFixed(1)} KB, gzipped ${(gzipSync(bytes).length / 1000).toFixed(1)} KB`;
console.log(`${size("module", bytes)}; ${size("script", readFileSync(join(dist, "index.js")))}`);
const { page } = await import("./page/build.mjs");
await page((entry) => bundle(join("..", entry), "page.js", module, worker, { write: false, sourcemap: false, format: "iife" }));
