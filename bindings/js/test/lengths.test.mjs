import test from "node:test";
import * as scalar from "../dist/scalar.js";
import * as simd from "../dist/index.js";
import { everyLength } from "./lib/lengths.mjs";
import { vectors } from "./lib/vectors.mjs";

const answers = vectors("lengths.json");

test("SIMD: every length from 0 to 70,000", (t) => {
  t.diagnostic(`lengths with SIMD: ${everyLength(simd, answers, ["hash", "keyed_hash"])} cases`);
});

test("scalar: every length from 0 to 70,000", (t) => {
  t.diagnostic(`lengths without SIMD: ${everyLength(scalar, answers, ["hash"])} cases`);
});
