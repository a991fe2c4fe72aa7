// Hive Gateway as a component of the shop: it joins the subgraphs, under the contract in docs/system/your-component.md.
import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createGatewayRuntime } from "@graphql-hive/gateway-runtime";
import transport from "@graphql-mesh/transport-http";
import { createInMemoryAPQStore, useAPQ } from "@graphql-yoga/plugin-apq";
import { GraphQLError, parse } from "graphql";
import { currentCall, newCall, openTracing, within } from "./tracing.mjs";

const DEADLINE = "x-envoy-expected-rq-timeout-ms";
const FORWARDED = ["authorization", "x-hopwise-edge"];
const LIMITS = { maxTokens: 500, maxCost: 5_000, listSize: 20, maxDocuments: 128, defaultMs: 5_000, maxMs: 30_000 };
const SIGNALS = ["SIGTERM", "SIGINT"];
const WORK_SHARE = 0.95; // The share of the caller's time limit in which the work must end.

/** The shop's code for each error code of the router; errors from a subgraph keep their codes. */
const CODES = {
  GRAPHQL_PARSE_FAILED: "INVALID_ARGUMENT",
  GRAPHQL_VALIDATION_FAILED: "INVALID_ARGUMENT",
  BAD_USER_INPUT: "INVALID_ARGUMENT",
  BAD_REQUEST: "INVALID_ARGUMENT",
  PERSISTED_QUERY_MISMATCH: "INVALID_ARGUMENT",
  COST_ESTIMATED_TOO_EXPENSIVE: "RESOURCE_EXHAUSTED",
  SUBREQUEST_HTTP_ERROR: "UNAVAILABLE",
  RESPONSE_VALIDATION_FAILED: "UNAVAILABLE",
  TIMEOUT_ERROR: "DEADLINE_EXCEEDED",
  INTERNAL_SERVER_ERROR: "INTERNAL",
};
const MESSAGES = {
  UNAVAILABLE: "a service does not answer; try again",
  DEADLINE_EXCEEDED: "the deadline of the request has passed; allow it more time",
  INTERNAL: "internal error",
};

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(2);
}

function required(name) {
  return process.env[name] || fail(`${name} is not set`);
}

/** The subgraphs that the environment names, with the places of their replicas or a sidecar's socket. */
function readSubgraphs() {
  const subgraphs = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith("SHOP_PEER_") || !value) continue;
    const [scheme, places] = value.split("://");
    if (scheme !== "federation" || !places) fail(`${name} is ${value}; valid: federation://host:port`);
    const socket = process.env[name.replace("PEER", "SOCKET")];
    subgraphs[name.slice("SHOP_PEER_".length).toLowerCase()] = new Subgraph(places.split(","), socket);
  }
  return subgraphs;
}

class Subgraph {
  #next = 0;

  constructor(places, socket) {
    this.places = places;
    this.agent = new http.Agent({ keepAlive: true });
    if (socket) this.agent.createConnection = (_, connected) => net.connect(socket, connected);
  }

  /** Fetches from each replica in turn; the next replica is tried if a connection fails before anything was sent. */
  async fetch(fetchFn, url, options, ...rest) {
    for (let left = this.places.length; ; left--) {
      const place = this.places[this.#next++ % this.places.length];
      try {
        return await fetchFn(`http://${place}${new URL(url).pathname}`, { ...options, agent: this.agent }, ...rest);
      } catch (error) {
        if (left <= 1 || error.code !== "ECONNREFUSED") throw error;
      }
    }
  }
}

/** Sends each fetch to a replica, with the rest of the caller's time limit and the call's trace context. */
function useSubgraphs(subgraphs, tracing) {
  return {
    onFetch({ executionRequest, fetchFn, setFetchFn }) {
      const subgraph = subgraphs[executionRequest?.subgraphName];
      if (!subgraph) return;
      setFetchFn((url, options, ...rest) => {
        const call = currentCall();
        const leftMs = Math.max(1, Math.floor(call.endsAt - performance.now()));
        const signals = [call.late, ...(options.signal ? [options.signal] : [])];
        const asked = { ...options.headers, [DEADLINE]: String(leftMs) };
        for (const name of FORWARDED) {
          if (call.headers[name] !== undefined) asked[name] = call.headers[name];
        }
        return tracing.fetch(executionRequest.subgraphName, asked, (headers) =>
          subgraph.fetch(fetchFn, url, { ...options, headers, signal: AbortSignal.any(signals) }, ...rest),
        );
      });
    },
  };
}

/** Limits the size of documents, and gives errors the shop's codes and messages. */
function useShopErrors() {
  return {
    onParse({ setParseFn }) {
      setParseFn((source, options) => parse(source, { ...options, maxTokens: LIMITS.maxTokens }));
    },
    onResultProcess({ request, result, setResult }) {
      if (!result?.errors?.length) return;
      // With application/json, clients expect 200 for any GraphQL request.
      const isNew = request.headers.get("accept")?.includes("application/graphql-response+json");
      const status = isNew && result.data === undefined ? 400 : 200;
      const errors = result.errors.map((error) => shopError(error, status));
      currentCall().error = errors[0].extensions.code;
      setResult({ ...result, errors, extensions: undefined });
    },
  };
}

/** Matches the error for an entity that its subgraph does not return: all fields except the key are then null. */
const NOT_SHOWN = /^Cannot return null for non-nullable field/;

function shopError(error, status) {
  if (NOT_SHOWN.test(error.message)) return failure("it is gone, or another customer's", "NOT_FOUND", error, status);
  const { code: given, field, retryAfter } = error.extensions ?? {};
  const isOurs = !given || given in CODES;
  const late = isOurs && currentCall().late.aborted;
  const cause = error.originalError;
  const unknown = cause && !(cause instanceof GraphQLError) ? "INTERNAL" : "INVALID_ARGUMENT";
  const code = late ? "DEADLINE_EXCEEDED" : (CODES[given] ?? given ?? unknown);
  const message = isOurs ? (MESSAGES[code] ?? error.message) : error.message;
  if (code === "INTERNAL") console.error("unexpected error", error);
  return failure(message, code, error, status, { field, retryAfter });
}

function failure(message, code, { path }, status, more = {}) {
  return new GraphQLError(message, { path, extensions: { code, ...more, http: { status } } });
}

function waits(header) {
  return /^[1-9]\d{0,8}$/.test(header ?? "") ? Math.min(Number(header), LIMITS.maxMs) : LIMITS.defaultMs;
}

for (const signal of SIGNALS) process.once(signal, () => process.exit(0));
if (process.env.SHOP_CONTRACT && process.env.SHOP_CONTRACT !== "1") fail("SHOP_CONTRACT is not 1; valid: 1");
const listen = required("SHOP_LISTEN_HTTP");
const subgraphs = readSubgraphs();
const supergraph = readFileSync(required("SHOP_SUPERGRAPH"), "utf8");
for (const [, name] of supergraph.matchAll(/@join__graph\(name: "(\w+)"/g)) {
  if (!subgraphs[name]) fail(`SHOP_PEER_${name.toUpperCase()} is not set, and the supergraph has the subgraph ${name}`);
}
const tracing = openTracing(process.env);
const gateway = createGatewayRuntime({
  supergraph,
  transports: { http: transport },
  // Calls share no fetches: in a trace, a call whose fetch belongs to another call looks like a lost span.
  transportEntries: { "*": { options: { deduplicateInflightRequests: false } } },
  healthCheckEndpoint: "/healthz",
  graphiql: false,
  landingPage: false,
  cors: false,
  logging: false,
  maskedErrors: false, // `useShopErrors` masks errors instead.
  subgraphErrors: { subgraphNameProp: false },
  demandControl: { maxCost: LIMITS.maxCost, listSize: LIMITS.listSize, includeExtensionMetadata: false },
  plugins: () => [
    useAPQ({ store: createInMemoryAPQStore({ max: LIMITS.maxDocuments }), responseConfig: { forceStatusCodeOk: true } }),
    useShopErrors(),
    useSubgraphs(subgraphs, tracing),
    tracing.plugin,
  ],
});
const drainMs = Number(process.env.SHOP_DRAIN_S || 0) * 1_000;
let stopping = false;
const delayMs = Number(process.env.SHOP_DELAY_US || 0) / 1_000;
const server = http.createServer((request, response) => {
  if (stopping) response.setHeader("connection", "close"); // so that clients close their connections
  if (request.url === "/healthz") {
    response.end("ok");
    return;
  }
  const ms = Math.floor(waits(request.headers[DEADLINE]) * WORK_SHARE);
  within(newCall(request.headers, ms), () =>
    tracing.serve(request, response, async (span) => {
      if (delayMs) {
        const began = performance.now();
        await sleep(delayMs);
        span?.setAttributes({
          "shop.injected_delay_ms": delayMs,
          "shop.injected_delay_took_ms": performance.now() - began,
        });
      }
      await gateway(request, response);
    }),
  );
});
server.keepAliveTimeout = 0; // The edge keeps idle connections for longer than Node's default of five seconds.
server.on("error", (error) => {
  console.error(`error: SHOP_LISTEN_HTTP is ${listen}: ${error.message}`);
  process.exit(1);
});

async function stop() {
  stopping = true;
  await sleep(drainMs);
  server.close();
  server.closeIdleConnections();
  const limit = performance.now() + 5_000;
  while (tracing.open > 0 && performance.now() < limit) await sleep(10);
  server.closeAllConnections();
  await tracing.close();
  process.exit(0);
}
await gateway.getSchema();
for (const signal of SIGNALS) {
  process.removeAllListeners(signal); // Hive's own listeners abort requests in flight.
  process.once(signal, stop);
}
if (listen.startsWith("unix:")) {
  const { rmSync } = await import("node:fs");
  rmSync(listen.slice("unix:".length), { force: true });
  server.listen(listen.slice("unix:".length));
} else {
  const [, host, port] = listen.match(/^(.*):(\d+)$/) ?? fail(`SHOP_LISTEN_HTTP is ${listen}; valid: host:port`);
  server.listen({ host, port: Number(port), backlog: 4096 });
}
