-- Kong's work on every request in addition to its plugins, so that it is the same edge as Envoy: header rules, limits,
-- error replies, times of spans, and the access log. `mesh.edge.kong` puts the table EDGE (limits and replies) above it
-- and gives it to the pre-function plugin. The plugin runs it once in each phase, then calls the returned function.
local cjson = require("cjson.safe").new()
local ffi = require "ffi"
local time_ns = require("kong.tools.time").time_ns

cjson.encode_escape_forward_slash(false)

local phases = {}

-- Under a separate name: Kong declares the function too, and LuaJIT refuses a second declaration.
pcall(ffi.cdef, [[
  struct edge_time { long s; long ns; };
  int edge_clock_gettime(int clock, struct edge_time *now) __asm__("clock_gettime");
]])
local CLOCK_MONOTONIC = 1
local reading = ffi.new("struct edge_time")

local function monotonic_ns()
  ffi.C.edge_clock_gettime(CLOCK_MONOTONIC, reading)
  return tonumber(reading.s) * 1e9 + tonumber(reading.ns)
end

local function is_call()
  return (ngx.var.content_type or ""):sub(1, 16) == "application/grpc"
end

-- Without the query, which may hold personal data; empty for a request that nginx could not read.
local function path()
  return (ngx.var.request_uri or ""):match("^[^?]*")
end

local function asks_graphql()
  local asked = path()
  return asked == EDGE.graphql or asked:sub(1, #EDGE.graphql + 1) == EDGE.graphql .. "/"
end

local function is_removed(name)
  return EDGE.removed[name] or name:sub(-#EDGE.removed_suffix) == EDGE.removed_suffix
    -- Components behind the edge use some of them, and clients must not control those headers.
    or name:sub(1, 8) == "x-envoy-"
end

local function joined(value)
  return type(value) == "table" and table.concat(value, ",") or value
end

local function starts_with(text, beginning)
  return text:sub(1, #beginning) == beginning
end

-- Whether a request asks for an upgrade other than h2c at a path without WebSockets.
local function is_refused_upgrade(headers)
  local to, connection = joined(headers["upgrade"]), joined(headers["connection"])
  if not to or to == "h2c" or not (connection and connection:lower():find("upgrade", 1, true)) then
    return false
  end
  for _, socket in ipairs(EDGE.sockets) do
    if to:lower() == "websocket" and ngx.re.find(path(), "^(?:" .. socket .. ")", "joD") then
      return false
    end
  end
  return true
end

-- Whether a request has headers that HTTP/2 forbids; nginx would even forward an upgrade.
local function is_of_http1(headers)
  return headers["connection"] or headers["upgrade"] or headers["transfer-encoding"]
    or (headers["te"] or "trailers") ~= "trailers"
end

-- Whether a header line has no colon; nginx treats it as a header without a value.
local function lacks_colon()
  return ngx.re.find(ngx.req.raw_header(true), "^[^:\\r\\n]+\\r?$", "jom")
end

-- The status for requests that Envoy refuses before it looks at the path, and that nginx accepts. Of nginx's functions,
-- only those that LuaJIT compiles are called: any other call would cost every request more than this whole function.
local function malformed(headers, is_http2)
  local count = 0
  for _, value in pairs(headers) do
    count = count + (type(value) == "table" and #value or 1)
    if ngx.re.find(joined(value), "[\\x00-\\x08\\x0a-\\x1f\\x7f]", "jo")
      or (value == "" and not is_http2 and lacks_colon()) then
      return 400
    end
  end
  if count > EDGE.max_headers or tonumber(ngx.var.request_length) > EDGE.max_header_bytes then
    return 431
  end
  if ngx.re.find(ngx.var.request_uri, "[#\\x80-\\xff]", "jo") or (is_http2 and is_of_http1(headers)) then
    return 400
  end
  return headers["upgrade"] and is_refused_upgrade(headers) and 403
end

-- The status for a refused method: 405 with the methods of the route, or 404 without a route.
local function refused_method()
  for _, route in ipairs(EDGE.routes) do
    if ngx.re.find(path(), "^(?:" .. route.pattern .. ")$", "joD") then
      ngx.ctx.edge_allow = route.allow
      return 405
    end
  end
  return 404
end

local function refusal(headers)
  for _, checked in ipairs(EDGE.checked) do
    local value = checked.name == ":method" and ngx.var.request_method
      or headers[checked.name == ":authority" and "host" or checked.name]
    if value and not ngx.re.find(joined(value), "^(?:" .. checked.pattern .. ")$", "joD")
      and starts_with(ngx.var.uri, checked.below) then
      return checked.answer == 405 and refused_method() or checked.answer
    end
  end
end

-- nginx itself limits the pause between two parts of a body, not the total time, and then sends no answer.
local function read_body_in_time()
  local whole = false
  local reader = ngx.thread.spawn(function()
    ngx.req.read_body()
    whole = true
  end)
  if whole then
    return
  end
  local limit = ngx.thread.spawn(ngx.sleep, EDGE.request_s)
  ngx.thread.wait(reader, limit)
  if not whole then
    ngx.status = 408
    ngx.print()
    -- nginx would treat `ngx.exit(408)` as its own timeout, and close the connection without an answer.
    return ngx.exit(ngx.HTTP_OK)
  end
  ngx.thread.kill(limit)
end

function phases.rewrite()
  local ctx = ngx.ctx
  ctx.edge_began_ns, ctx.edge_began_at_ns = monotonic_ns(), time_ns()
  local version = ngx.var.server_protocol
  if version ~= "HTTP/2.0" and version ~= "HTTP/1.1" then
    if ngx.req.http_version() == 0.9 then
      return ngx.exit(444) -- its answers have no status
    end
    return kong.response.exit(426)
  end
  -- Without the metatable for other spellings of header names, which makes each lookup of a missing header slow.
  local headers = setmetatable(ngx.req.get_headers(0), nil)
  local refused = malformed(headers, version == "HTTP/2.0") or refusal(headers)
  if refused then
    return kong.response.exit(refused)
  end
  for name in pairs(headers) do
    if is_removed(name) then
      ngx.req.clear_header(name)
    end
  end
  ngx.req.set_header(EDGE.mark, ngx.var.remote_addr)
  ngx.req.set_header(EDGE.deadline, EDGE.deadline_ms)
  if is_call() then
    -- Without it, gRPC resets the call, and the client gets UNAVAILABLE.
    ngx.var.upstream_te = "trailers"
  end
  if headers["content-length"] or headers["transfer-encoding"] then
    read_body_in_time()
  end
end

local function reply_of(status)
  for _, reply in ipairs(EDGE.replies) do
    if reply.min_status <= status and status <= reply.max_status then
      return reply
    end
  end
end

function phases.header_filter()
  local ctx, status = ngx.ctx, ngx.status
  if status < 400 or kong.response.get_source() == "service" then
    return
  end
  -- If nginx could not read the request line, this is HTTP/1.0 and the path is empty.
  local version = ngx.var.server_protocol
  if version ~= "HTTP/2.0" and version ~= "HTTP/1.1" and path() ~= "" then
    status = 426
  end
  local reply = reply_of(status)
  status = reply.status ~= 0 and reply.status or status
  ctx.edge_reply, ctx.edge_status = reply, status
  ngx.status = status
  ngx.header["content-length"] = nil
  if is_call() then
    ngx.status = 200
    ngx.header["content-type"] = "application/grpc"
    ngx.header["grpc-status"] = reply.grpc_status
    ngx.header["grpc-message"] = reply.detail
    ngx.header["grpc-status-details-bin"] = reply.grpc_details
  elseif asks_graphql() then
    local accepted = (ngx.var.http_accept or ""):find(EDGE.graphql_type, 1, true)
    ngx.header["content-type"] = accepted and EDGE.graphql_type or "application/json"
  else
    ngx.header["content-type"] = "application/problem+json"
  end
  if EDGE.calls ~= "" and starts_with(path(), EDGE.calls) then
    -- Pages can read refusals too. The cors plugin does not run for requests that are refused before they have a route.
    ngx.header["access-control-allow-origin"] = "*"
  end
  if not is_call() then
    ngx.header["cache-control"] = "no-store"
    ngx.header["allow"] = ctx.edge_allow
    ngx.header["retry-after"] = reply.retry_after_s
  end
end

local function body_of(reply, status)
  if asks_graphql() then
    return cjson.encode({ errors = { { message = reply.detail, extensions = reply.extensions } } })
  end
  return cjson.encode({
    type = reply.type,
    title = reply.title,
    status = status,
    detail = reply.detail,
    instance = path() ~= "" and path() or nil,
    code = reply.code,
  })
end

function phases.body_filter()
  local ctx = ngx.ctx
  local is_last = ngx.arg[2]
  if is_last then
    ctx.edge_answered_ns, ctx.edge_answered_at_ns = monotonic_ns(), time_ns()
  end
  if not ctx.edge_reply then
    return
  end
  ngx.arg[1] = nil
  if is_last and not is_call() then
    ngx.arg[1] = body_of(ctx.edge_reply, ctx.edge_status)
  end
end

-- Kong records only the millisecond of a request's start, and ends the component's span with the request's own span.
local function set_times_of(spans, ctx)
  local server, upstream = spans[1], spans[spans[0]]
  server.start_time_ns = ctx.edge_began_at_ns
  local var = ngx.var
  server.attributes["http.url"] = var.scheme .. "://" .. (var.http_host or var.host) .. path()
  if upstream ~= server and ctx.edge_answered_at_ns then
    upstream.end_time_ns = ctx.edge_answered_at_ns
  end
end

function phases.log()
  local ctx, var = ngx.ctx, ngx.var
  local spans = ctx.KONG_SPANS
  if spans and spans[1] and ctx.edge_began_at_ns then
    set_times_of(spans, ctx)
  end
  local duration_ns = ctx.edge_answered_ns and ctx.edge_began_ns and ctx.edge_answered_ns - ctx.edge_began_ns
  var.edge = cjson.encode({
    time = var.time_iso8601,
    method = var.request_method,
    path = path(),
    protocol = var.server_protocol,
    status = tonumber(var.status),
    flags = var.request_completion == "OK" and "-" or "DC",
    details = kong.response.get_source(),
    duration_ms = duration_ns and math.floor(duration_ns / 1e6) or cjson.null,
    duration_ns = duration_ns or cjson.null,
    sending_ns = cjson.null,
    behind_ns = cjson.null,
    upstream = ctx.service and ctx.service.name or cjson.null,
    bytes_in = tonumber(var.content_length) or 0,
    bytes_out = tonumber(var.body_bytes_sent),
    request_id = var.kong_request_id,
    traceparent = var.http_traceparent or cjson.null,
  })
end

return phases[ngx.get_phase()]
