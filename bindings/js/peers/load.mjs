// All engines, by names that Node resolves and esbuild bundles.
import * as huggingFace from "@huggingface/blake3-jit";
import * as noble from "@noble/hashes/blake3.js";
import { blake3Hash } from "@webbuf/blake3";
import { WebBuf } from "@webbuf/webbuf";
import * as jit from "blake3-jit";
import * as hashWasm from "hash-wasm";
import * as treewide from "../dist/index.js";

export const modules = { treewide, hashWasm, jit, huggingFace, noble, webbuf: { blake3Hash, buffers: { WebBuf } } };
