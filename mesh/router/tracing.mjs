// Spans of the router, as hop budgets read them, and the router's account of what they cost.
import { AsyncLocalStorage } from "node:async_hooks";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const MEASURED_SPANS = 2_000;
const CLOCK_SET_MS = 20; // at the start
const CLOCK_RENEWED_MS = 30_000; // as clocks drift apart
const SERVER_FAULTS = new Set(["INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED"]);
const calls = new AsyncLocalStorage();

/** Runs work for one request; inside it, `currentCall` returns the request's facts. */
export const within = (call, work) => calls.run(call, work);
export const currentCall = () => calls.getStore() ?? newCall({}, 5_000);

/** A request's facts; `late` aborts pending work when the request's time is over. */
export const newCall = (headers, ms) => ({ headers, endsAt: performance.now() + ms, late: AbortSignal.timeout(ms) });

/** The caller's span, if the caller samples its trace. */
function sampledCaller(traceparent) {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? "") ?? [];
  return traceId && Number.parseInt(flags, 16) & 1 ? { traceId, spanId, traceFlags: 1, isRemote: true } : undefined;
}

/**
 * The clock of spans: with OpenTelemetry's own clock, spans begin at whole milliseconds, some before the caller's span.
 *
 * `Date.now` is behind the system's clock by less than a millisecond: the largest difference observed is nearly right.
 */
class Clock {
  #seen = -Infinity;
  #before = -Infinity;
  #renewedMs = 0;

  constructor() {
    const until = performance.now() + CLOCK_SET_MS;
    while (performance.now() < until) this.now();
  }

  now() {
    const system = Date.now();
    const ms = performance.now();
    if (ms - this.#renewedMs > CLOCK_RENEWED_MS) {
      [this.#before, this.#seen, this.#renewedMs] = [this.#seen, -Infinity, ms];
    }
    this.#seen = Math.max(this.#seen, system - ms);
    const now = Math.max(this.#seen, this.#before) + ms;
    const seconds = Math.floor(now / 1_000);
    return [seconds, Math.round((now - seconds * 1_000) * 1e6)];
  }
}

function readsByKey({ definitions }) {
  return definitions.some((one) => one.selectionSet.selections.some((field) => field.name?.value === "_entities"));
}

class Accountant {
  #counts = { recorded: 0, exported: 0, lost: 0 };

  constructor(exporter, folder, instance) {
    this.exporter = exporter;
    this.file = folder && join(folder, `${instance}.json`);
  }

  export(spans, done) {
    this.#counts.recorded += spans.length;
    this.exporter.export(spans, (result) => {
      this.#counts[result.code === 0 ? "exported" : "lost"] += spans.length;
      this.write();
      done(result);
    });
  }

  write(more = {}) {
    if (!this.file) return;
    mkdirSync(dirname(this.file), { recursive: true });
    writeFileSync(`${this.file}.new`, JSON.stringify({ ...this.#counts, ...more }));
    renameSync(`${this.file}.new`, this.file);
  }

  forceFlush() {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown() {
    return this.exporter.shutdown();
  }
}

export function openTracing(env) {
  const name = env.OTEL_SERVICE_NAME || env.SHOP_COMPONENT || "graphql-gateway";
  const instance = env.SHOP_INSTANCE || name;
  const attributes = { "service.name": name, "service.instance.id": instance };
  if (env.SHOP_TOPOLOGY) attributes["shop.topology"] = env.SHOP_TOPOLOGY;
  if (env.SHOP_TRIAL) attributes["shop.trial"] = env.SHOP_TRIAL;
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const accountant = endpoint && new Accountant(new OTLPTraceExporter({ url: endpoint }), env.SHOP_TELEMETRY_FOLDER, instance);
  const processors = accountant ? [new BatchSpanProcessor(accountant, { maxQueueSize: 65_536, scheduledDelayMillis: 500 })] : [];
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(attributes),
    sampler: new AlwaysOnSampler(),
    spanProcessors: processors,
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracer = provider.getTracer("hopwise.router");
  const clock = new Clock();
  let open = 0;

  /** Runs work in a span below the current span; without a current span, the request is not sampled. */
  function inSpan(spanName, work, kind = SpanKind.INTERNAL) {
    if (!trace.getActiveSpan()) return work();
    const span = tracer.startSpan(spanName, { kind, startTime: clock.now() });
    const end = () => span.end(clock.now());
    let result;
    try {
      result = context.with(trace.setSpan(context.active(), span), () => work(span));
    } catch (error) {
      end();
      throw error;
    }
    if (typeof result?.then === "function") return Promise.resolve(result).finally(end);
    end();
    return result;
  }

  /** What a span costs the thread that makes it, in ns by kind. */
  function measureCosts() {
    const idle = new BasicTracerProvider({ sampler: new AlwaysOnSampler() }).getTracer("cost");
    const costs = Object.entries({ SERVER: SpanKind.SERVER, CLIENT: SpanKind.CLIENT, INTERNAL: SpanKind.INTERNAL });
    return Object.fromEntries(
      costs.map(([name, kind]) => {
        const began = process.cpuUsage();
        for (let i = 0; i < MEASURED_SPANS; i++) {
          const span = idle.startSpan(name, { kind, startTime: clock.now() });
          context.with(trace.setSpan(context.active(), span), () => span.setAttribute("http.route", "/graphql"));
          span.end(clock.now());
        }
        const used = process.cpuUsage(began);
        return [name, Math.round(((used.user + used.system) * 1_000) / MEASURED_SPANS)];
      }),
    );
  }

  function wrapped(spanName, setFunction, original) {
    if (trace.getActiveSpan()) setFunction((...given) => inSpan(spanName, () => original(...given)));
  }

  const plugin = {
    onParse: ({ parseFn, setParseFn }) => wrapped("graphql.parse", setParseFn, parseFn),
    onValidate: ({ validateFn, setValidationFn }) => wrapped("graphql.validate", setValidationFn, validateFn),
    onExecute: ({ executeFn, setExecuteFn }) => wrapped("graphql.execute", setExecuteFn, executeFn),
    onSubgraphExecute({ subgraphName, executionRequest, executor, setExecutor }) {
      wrapped(`subgraph ${subgraphName}${readsByKey(executionRequest.document) ? " _entities" : ""}`, setExecutor, executor);
    },
  };

  return {
    plugin,
    get open() {
      return open;
    },

    /** Answers a request within a SERVER span, if the caller samples the trace. */
    async serve(request, response, answer) {
      const caller = sampledCaller(request.headers.traceparent);
      const below = caller ? trace.setSpanContext(context.active(), caller) : context.active();
      const path = request.url.split("?")[0];
      const kind = SpanKind.SERVER;
      const span = caller && tracer.startSpan(`${request.method} ${path}`, { kind, startTime: clock.now() }, below);
      open += 1;
      let ended = false;
      const end = () => {
        if (ended) return;
        ended = true;
        open -= 1;
        if (!span) return;
        const code = call.error;
        span.setAttributes({
          "http.request.method": request.method,
          "http.route": path,
          "http.response.status_code": response.statusCode,
        });
        if (code) span.setAttribute("error.type", code);
        if (SERVER_FAULTS.has(code)) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(clock.now());
      };
      // The span ends at the first of the two events: if a client disconnects, the answer never finishes.
      response.once("finish", end).once("close", end);
      const call = currentCall();
      await (span ? context.with(trace.setSpan(below, span), () => answer(span)) : answer(undefined));
    },

    /** Fetches within a CLIENT span that lasts until the whole answer has arrived. */
    fetch(subgraph, headers, send) {
      const active = trace.getActiveSpan();
      if (!active) {
        const given = currentCall().headers.traceparent;
        return send(given ? { ...headers, traceparent: given } : headers);
      }
      return inSpan(
        `POST ${subgraph}`,
        async (span) => {
          const { traceId, spanId } = span.spanContext();
          try {
            const response = await send({ ...headers, traceparent: `00-${traceId}-${spanId}-01` });
            const text = await response.text();
            return { status: response.status, statusText: response.statusText, headers: response.headers, text: () => text };
          } catch (error) {
            span.setAttribute("error.type", error.code ?? error.name);
            throw error;
          }
        },
        SpanKind.CLIENT,
      );
    },

    async close() {
      await provider.shutdown();
      accountant?.write({ cost_ns: measureCosts() });
    },
  };
}
