// Composes the subgraphs' SDL into the supergraph: node compose.mjs FOLDER FILE. The folder has NAME.graphql for each
// subgraph.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { composeServices } from "@theguild/federation-composition";
import { parse } from "graphql";

const [folder, file] = process.argv.slice(2);
const services = readdirSync(folder)
  .sort()
  .map((entry) => ({
    name: basename(entry, ".graphql"),
    url: `http://${basename(entry, ".graphql")}/graphql`,
    typeDefs: parse(readFileSync(join(folder, entry), "utf8")),
  }));
const composed = composeServices(services);
if (composed.errors) {
  for (const error of composed.errors) console.error(`error: ${error.message}`);
  process.exit(1);
}
writeFileSync(file, `${composed.supergraphSdl.trimEnd()}\n`);
