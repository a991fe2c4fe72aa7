package exchange

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// A connection to another machine is refused unless the user says that it is theirs; the shop's clients go anywhere.
func TestOnlyThisMachine(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 80} }
	guard := ownOf(target.Target{Steps: "x", Mine: []string{"mine.example"}})
	for address, to := range map[string]net.Addr{"localhost:80": at("127.0.0.1"), "[::1]:80": at("::1"), "mine.example:80": at("192.0.2.7"), "Mine.Example:80": at("192.0.2.7")} {
		if err := guard.check(address, to); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := guard.check("unix-0.localhost:80", &net.UnixAddr{Name: "/run/app.sock", Net: unix}); err != nil {
		t.Error(err)
	}
	err := guard.check("rebound.example:80", at("192.0.2.7"))
	if err == nil || !strings.Contains(err.Error(), "rebound.example is at 192.0.2.7, which is not this machine") {
		t.Error(err)
	}
	if err := ownOf(target.Target{}).check("shop.example:80", at("192.0.2.7")); err != nil {
		t.Error(err)
	}
}

// A Unix socket replaces host and port, over each version of HTTP and over gRPC. Two sockets are two servers.
func TestUnixSockets(t *testing.T) {
	for name, c := range connected {
		if c.http == 3 {
			continue
		}
		endpoints := map[string]target.Entry{}
		for _, server := range []string{"one", "other"} {
			listener, err := net.Listen(unix, filepath.Join(t.TempDir(), server))
			if err != nil {
				t.Fatal(err)
			}
			shoptest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Host != "localhost" {
					t.Errorf("%s: the host is %q", name, r.Host)
				}
				w.Header().Set("X-Server", server)
				answerEmpty(w, r)
			}, func(s *httptest.Server) { s.Listener = listener })
			endpoints[server] = target.Entry{Protocol: c.protocol, URL: "http://" + server + ".localhost:80", Socket: listener.Addr().String()}
		}
		client := dialled(t, target.Target{HTTP: c.http, Steps: "x", Endpoints: endpoints}, 2)
		for server, entry := range endpoints {
			at := client.At(entry.URL)
			if !strings.HasSuffix(at.String(), "+unix:"+entry.Socket) {
				t.Errorf("%s is called %s", entry.Socket, at)
			}
			if err := ask(t.Context(), Untraced(at), c.protocol); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if c.protocol == target.GRPC {
				continue
			}
			if got, err := Untraced(at).Do(t.Context(), Request{Method: http.MethodGet, Path: "/"}); err != nil || got.Header.Get("X-Server") != server {
				t.Errorf("%s: %s instead of %s, %v", name, got.Header, server, err)
			}
		}
	}
}

// A Location leads to the target even if the server leaves out a default port.
func TestDefaultPortsMayBeLeftOut(t *testing.T) {
	for _, c := range []struct {
		to, host string
		leads    bool
	}{
		{"https://mine.example/a", "mine.example:443", true},
		{"http://Mine.example/a", "mine.example:80", true},
		{"https://mine.example:443/a", "mine.example:443", true},
		{"http://mine.example:443/a", "mine.example:80", false},
		{"https://mine.example/a", "mine.example:8443", false},
		{"https://mine.example:8443/a", "mine.example:443", false},
		{"http://[::1]/a", "[::1]:80", true},
		{"http://elsewhere.example/a", "mine.example:80", false},
	} {
		to, err := url.Parse(c.to)
		if err != nil || LeadsTo(to, c.host) != c.leads {
			t.Errorf("%s and %s: %v, %v", c.to, c.host, !c.leads, err)
		}
	}
}
