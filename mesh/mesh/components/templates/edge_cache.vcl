vcl 4.1;

import std;

# The edge, or the near end of the emulated network before it.
backend edge {
    .host = "127.0.0.1";
    .port = "$port";
    .connect_timeout = 5s;
    .first_byte_timeout = 10s;
    .between_bytes_timeout = 10s;
}

sub vcl_recv {
    # Only the shop may enter the folder of this socket.
    if (local.socket == "shop") {
        if (req.method != "BAN") {
            return (synth(405));
        }
        if (req.http.Surrogate-Key !~ "^[a-z]+(-[0-9]+)?(,[a-z]+(-[0-9]+)?)*$$") {
            return (synth(400));
        }
        if (std.ban("obj.http.Surrogate-Key ~ (^|,)(" + regsuball(req.http.Surrogate-Key, ",", "|") + ")(,|$$)")) {
            return (synth(200));
        }
        return (synth(500));
    }
    if (req.method == "BAN" || req.method == "PURGE") {
        return (synth(405));
    }
    unset req.http.Surrogate-Key;
    # Never `pipe`: later data on a piped connection would reach the edge unread.
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    # Credentials do not matter here: `vcl_backend_response` keeps only public answers.
    return (hash);
}

sub vcl_backend_fetch {
    # The fetch is the parent of the edge's span. Decimal digits are hexadecimal ones, too.
    set bereq.http.traceparent = regsub(bereq.http.traceparent, "^(00-[0-9a-f]{32})-[0-9a-f]{16}-",
        "\1-" + regsub("0000000000000000" + bereq.xid, "^.*(.{16})$$", "\1") + "-");
    if (bereq.http.traceparent == "") {
        unset bereq.http.traceparent;
    }
    set bereq.http.Surrogate-Capability = {"hopwise="Surrogate/1.0""};
    unset bereq.http.X-Varnish;
}

sub vcl_backend_response {
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    if (beresp.ttl > ${bound_s}s) {
        set beresp.ttl = ${bound_s}s;
    }
    if (bereq.uncacheable || beresp.status != 200 || beresp.ttl <= 0s || beresp.http.Set-Cookie ||
        beresp.http.Cache-Control !~ "(?i)(^|[, ])public($$|[, ])" ||
        beresp.http.Cache-Control ~ "(?i)(^|[, ])(private|no-store|no-cache)($$|[, =])" ||
        beresp.http.Vary ~ "\*|(?i)authorization") {
        set beresp.uncacheable = true;
        # During this time, requests for this URL do not wait for each other.
        set beresp.ttl = 120s;
    }
    return (deliver);
}

sub vcl_deliver {
    unset resp.http.Surrogate-Key;
    unset resp.http.X-Varnish;
    unset resp.http.Via;
    if (obj.hits > 0) {
        set resp.http.Cache-Status = "edge-cache; hit";
    } else {
        set resp.http.Cache-Status = "edge-cache; fwd=miss";
    }
    return (deliver);
}

sub vcl_synth {
    set resp.http.Cache-Control = "no-store";
    unset resp.http.X-Varnish;
    unset resp.http.Via;
    set resp.body = "";
    return (deliver);
}

sub vcl_backend_error {
    set beresp.http.Cache-Control = "no-store";
    set beresp.http.Content-Type = "application/problem+json";
    set beresp.http.Retry-After = "1";
    set beresp.ttl = 0s;
    set beresp.uncacheable = true;
    synthetic({"{"type":"about:blank","title":"Service Unavailable","status":503,"code":"UNAVAILABLE","detail":"the edge does not answer; try again" }"});
    return (deliver);
}
