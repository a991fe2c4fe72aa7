-- Sends a service's requests through the edge's own sidecar, with the sidecar's host name of the component.
-- A native sidecar listens on a Unix domain socket: Kong's entities can name hosts and ports only, but its balancer
-- connects to any address. `mesh.edge.kong` puts SOCKET (nil without one) and AUTHORITY above this, and gives it to the
-- service's post-function plugin.
return function()
  if SOCKET then
    local target = ngx.ctx.balancer_data
    target.type, target.host = "ipv4", "unix:" .. SOCKET
  end
  ngx.var.upstream_host = AUTHORITY
end
