// Lists the last traces in Jaeger, and draws the trace whose id is in the address.
const LAST = 20;
const KINDS = ["", "internal", "server", "client", "producer", "consumer"];

async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return answer.json();
}

// Groups the spans of OTLP JSON by trace, each with its service.
function readTraces(document) {
  const traces = new Map();
  for (const { resource, scopeSpans } of document.result?.resourceSpans ?? []) {
    const service = resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? "";
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      const read = { ...span, service, start: BigInt(span.startTimeUnixNano), end: BigInt(span.endTimeUnixNano) };
      traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), read]);
    }
  }
  for (const spans of traces.values()) spans.sort((one, other) => Number(one.start - other.start));
  return traces;
}

const ms = (ns) => (Number(ns) / 1e6).toFixed(2);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Reads method and path of a request from the attributes of a proxy's span; empty for other spans.
function request({ attributes }) {
  const said = Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
  return said["http.url"] ? `${said["http.method"]} ${new URL(said["http.url"]).pathname}` : "";
}

function showRow(id, spans) {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const root = spans.find(({ parentSpanId }) => !ids.has(parentSpanId)) ?? spans[0];
  const began = new Date(Number(root.start / 1_000_000n)).toLocaleTimeString();
  return element("tr", {},
    element("td", {}, began), element("th", { scope: "row" }, element("b", {}, root.service), ` ${request(root) || root.name}`),
    element("td", { className: "n" }, ms(root.end - root.start)), element("td", { className: "n" }, spans.length),
    element("td", {}, element("a", { href: `#${id}` }, id)));
}

// Puts every span below its parent, at any depth.
function* walk(spans, parent = undefined, depth = 0) {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const isChild = ({ parentSpanId }) => (parent === undefined ? !ids.has(parentSpanId) : parentSpanId === parent);
  for (const span of spans.filter(isChild)) {
    yield [depth, span];
    yield* walk(spans, span.spanId, depth + 1);
  }
}

function draw(id, spans) {
  const start = spans[0].start;
  const total = spans.reduce((end, span) => (span.end > end ? span.end : end), start) - start || 1n;
  const percent = (ns) => `${(100 * Number(ns)) / Number(total)}%`;
  const rows = [...walk(spans)].map(([depth, span]) => {
    const bar = element("b", {});
    bar.style.left = percent(span.start - start);
    bar.style.width = `max(2px, ${percent(span.end - span.start)})`;
    const name = element("th", { scope: "row" },
      element("b", {}, span.service), ` ${span.name} `, element("small", {}, KINDS[span.kind] ?? ""));
    name.style.setProperty("--d", depth);
    return element("tr", {}, name, element("td", { className: "bars g2" }, bar),
      element("td", { className: "n" }, ms(span.start - start)), element("td", { className: "n" }, ms(span.end - span.start)));
  });
  const head = element("tr", {}, element("th", { scope: "col" }, "span"),
    element("th", { scope: "col", className: "axis" }, `0 to ${ms(total)} ms`),
    element("th", { scope: "col", className: "n" }, "start ", element("small", {}, "ms")),
    element("th", { scope: "col", className: "n" }, "length ", element("small", {}, "ms")));
  const table = element("table", { className: "waterfall" }, element("caption", {}, `Trace ${id}, ${spans.length} spans`),
    element("thead", {}, head), element("tbody", {}, ...rows));
  table.style.setProperty("--step", "0.7rem");
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", `Trace ${id}`);
  return scroll;
}

async function list() {
  const { services } = await ask("/api/v3/services");
  const until = new Date(), since = new Date(until - 86_400_000);
  const times = `query.start_time_min=${since.toISOString()}&query.start_time_max=${until.toISOString()}`;
  const found = new Map();
  // A request from outside enters at the edge, if there is one.
  for (const service of services.includes("edge") ? ["edge"] : services) {
    const answer = await fetch(`/api/v3/traces?query.service_name=${service}&${times}&query.num_traces=${LAST}`);
    if (answer.ok) for (const [id, spans] of readTraces(await answer.json())) found.set(id, spans);
  }
  const last = [...found].sort(([, one], [, other]) => Number(other[0].start - one[0].start)).slice(0, LAST);
  document.getElementById("traces").replaceChildren(...last.map(([id, spans]) => showRow(id, spans)));
  document.querySelector(".scroll").hidden = !last.length;
  return last.length ? "The newest is on top. Load the page again for newer ones." : "No request has been traced yet: send one, and load this page again.";
}

async function showTrace() {
  const id = location.hash.slice(1), place = document.getElementById("trace");
  if (!/^[0-9a-f]{32}$/.test(id)) return;
  const spans = readTraces(await ask(`/api/v3/traces/${id}`)).get(id) ?? [];
  place.replaceChildren(spans.length ? draw(id, spans) : element("p", {}, `Jaeger has no trace ${id}.`));
  place.scrollIntoView();
}

function show(state) {
  document.getElementById("state").textContent = state;
}

addEventListener("hashchange", () => showTrace().catch((error) => show(error.message)));
list().then(show).then(showTrace).catch((error) => show(error.message));
