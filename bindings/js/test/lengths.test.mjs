import test from "node:test";
import * as treewide from "../dist/index.js";
import { everyLength } from "./lib/lengths.mjs";
import { vectors } from "./lib/vectors.mjs";

test("every length from 0 to 70,000", (t) => {
  t.diagnostic(`lengths: ${everyLength(treewide, vectors("lengths.json"), ["hash", "keyed_hash"])} cases`);
});
