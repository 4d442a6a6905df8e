// Builds the package into `dist/`: the module by cargo, with SIMD and without, then the JavaScript around it and the types. And
// the page, `page/dist/index.html`.
//
//   node build.mjs

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import lzma from "lzma";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const dist = join(here, "dist");
const target = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "js");
const TRIPLE = "wasm32-unknown-unknown";

/** What the module uses of WebAssembly, all of it in every engine with `WebAssembly.Module` since 2022. */
const FEATURES = ["bulk-memory", "mutable-globals", "nontrapping-float-to-int", "sign-ext", "multivalue", "reference-types"];

function run(program, args, options = {}) {
  execFileSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], ...options });
}

/** A module of WebAssembly, of a crate, in a folder of this name. */
function compile(name, { crate, profile, rust, optimise, features = [] }) {
  const args = ["build", "--quiet", "--locked", "-p", crate, "--lib", "--profile", profile, "--target", TRIPLE];
  const env = { ...process.env, CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS: rust };
  run("cargo", [...args, "--target-dir", join(target, name)], { env });
  const built = join(target, name, TRIPLE, profile, `${crate.replaceAll("-", "_")}.wasm`);
  const optimised = join(target, `${name}.wasm`);
  const enable = [...FEATURES, ...features].map((feature) => `--enable-${feature}`);
  const strip = ["--strip-debug", "--strip-producers", "--strip-target-features"];
  run(join(here, "node_modules/.bin/wasm-opt"), [optimise, ...strip, ...enable, built, "-o", optimised]);
  return readFileSync(optimised);
}

const hashing = { crate: "treewide-wasm", profile: "wasm", optimise: "-O3" };
/** A module as small as it comes, in a small memory. */
const unpacking = { crate: "treewide-wasm-lzma", profile: "wasm-small", optimise: "-Oz", rust: "-Clink-arg=-zstack-size=4096" };

/** Gives bundles what `src/module.d.ts` declares. */
function given(modules) {
  return {
    name: "given",
    setup(build) {
      build.onResolve({ filter: /^treewide:/ }, ({ path }) => ({ path, namespace: "given" }));
      build.onLoad({ filter: /.*/, namespace: "given" }, ({ path }) => ({
        contents: Object.entries(modules[path])
          .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
          .join("\n"),
      }));
    },
  };
}

const common = { bundle: true, format: "esm", target: "es2022", minify: true, keepNames: false, absWorkingDir: here, logLevel: "warning" };

async function bundle(entry, out, module, worker, more = {}) {
  const plugins = [given({ "treewide:module": module, "treewide:worker": { source: worker } })];
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

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const modules = {
  simd: compile("simd", { ...hashing, rust: "-Ctarget-feature=+simd128", features: ["simd"] }),
  scalar: compile("scalar", { ...hashing, rust: "-Ctarget-feature=-simd128" }),
};
const decompressor = compile("lzma", unpacking).toString("base64");
/** What `src/unpack.ts` takes. */
const pack = (module) => ({ packed: Buffer.from(lzma.LZMA().compress(module, 9)).toString("base64"), decompressor, size: module.length });
const [simd, scalar, none] = [pack(modules.simd), pack(modules.scalar), { packed: "", decompressor: "", size: 0 }];
// A worker of a pool gets the compiled module, so its program has none, and is the same for both.
const worker = await bundle("worker.ts", "worker.js", none, "", { write: false, sourcemap: false, format: "iife" });
await bundle("worker.ts", "worker.js", none, "");
await bundle("index.ts", "index.js", simd, worker);
await bundle("index.ts", "scalar.js", scalar, worker);
// These share the module with `treewide` itself.
const shared = {
  name: "shared",
  setup: (build) => build.onResolve({ filter: /^\.\.\/index\.js$/ }, () => ({ path: "./index.js", external: true })),
};
await bundle("blake3-wasm/browser.ts", "blake3-wasm.js", none, "", { plugins: [shared] });
await bundle("blake3-wasm/node.ts", "blake3-wasm.node.js", none, "", { plugins: [shared], platform: "node" });
run(join(here, "node_modules/.bin/tsc"), ["-p", "tsconfig.json"], { cwd: here });
for (const license of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, license), join(here, license));

const kib = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;
for (const [name, module] of Object.entries(modules)) {
  const script = readFileSync(join(dist, name === "simd" ? "index.js" : "scalar.js"));
  console.log(`${name}: module ${kib(module.length)}, gzipped ${kib(gzipSync(module).length)}; script ${kib(script.length)}, gzipped ${kib(gzipSync(script).length)}`);
}
const { page } = await import("./page/build.mjs");
await page((entry) => bundle(join("..", entry), "page.js", simd, worker, { write: false, sourcemap: false, format: "iife" }));
