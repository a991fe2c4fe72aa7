package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/netutil"

	"hopwise/load/internal/link"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/load/internal/wire"
	"hopwise/load/tests/shoptest"
	"hopwise/proto/stubs/productv1"
)

const host = "127.0.0.1"

// connected has the combinations of protocol and HTTP version that are possible over TLS.
var connected = map[string]struct {
	protocol target.Protocol
	http     int
	proto    string
}{
	"HTTP/1.1": {target.REST, 1, "HTTP/1.1"},
	"HTTP/2":   {target.REST, 2, "HTTP/2.0"},
	"HTTP/3":   {target.GraphQL, 3, "HTTP/3.0"},
	"gRPC":     {target.GRPC, 1, "HTTP/2.0"},
}

func start(t *testing.T, http int, shown tls.Certificate) *shoptest.Shop {
	t.Helper()
	if http == 3 {
		return shoptest.StartQUIC(t, shown)
	}
	return shoptest.StartTLS(t, shown)
}

// secure starts a shop with TLS, and returns it with a target that trusts its certificate.
func secure(t *testing.T, p target.Protocol, version int) (*shoptest.Shop, target.Target) {
	t.Helper()
	authority := shoptest.NewAuthority(t)
	shop := start(t, version, authority.Issue(t, host, time.Now().Add(time.Hour)))
	at := shop.Target(t, p, version)
	at.CACertificate = authority.Write(t)
	return shop, at
}

func dialled(t *testing.T, at target.Target, connections int) *Client {
	t.Helper()
	client, err := NewClient(at, connections)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

func ask(ctx context.Context, x *Exchange, p target.Protocol) error {
	if p == target.GRPC {
		_, err := productv1.NewProductServiceClient(x.Channel("")).GetProduct(ctx, &productv1.GetProductRequest{Id: 1})
		return err
	}
	_, err := x.Do(ctx, Request{Method: http.MethodGet, Route: "/v1/products/{id}", Path: "/v1/products/1"})
	return err
}

func TestTLS(t *testing.T) {
	for name, c := range connected {
		t.Run(name, func(t *testing.T) {
			shop, at := secure(t, c.protocol, c.http)
			client := dialled(t, at, 1)
			if err := ask(t.Context(), Untraced(client.At(shop.URL)), c.protocol); err != nil {
				t.Fatal(err)
			}
			if seen := shop.Seen(); len(seen) != 1 || seen[0].Proto != c.proto {
				t.Errorf("%+v instead of one request over %s", seen, c.proto)
			}
			// There is one connection; the handshake alone has more bytes than the request and its answer.
			if meter := client.Meter(); meter.Dialed() != 1 || meter.Count().In < 500 {
				t.Errorf("%d connections, %+v", meter.Dialed(), meter.Count())
			}
		})
	}
}

// Every connection is opened before the load, even over HTTP/1.1, where a free connection would be reused.
func TestEveryConnectionIsOpened(t *testing.T) {
	const connections = 4 * openingAtOnce
	for name, c := range connected {
		for _, steps := range []string{"", "x"} { // targets other than the shop have steps, and get another greeting
			t.Run(fmt.Sprintf("%s, steps %q", name, steps), func(t *testing.T) {
				_, at := secure(t, c.protocol, c.http)
				at.Steps, at.Endpoints = steps, map[string]target.Entry{"e": at.Entry[target.Web]}
				client := dialled(t, at, connections)
				if dialed := client.Meter().Dialed(); dialed != connections {
					t.Errorf("%d connections of %d", dialed, connections)
				}
			})
		}
	}
}

// The greetings wait for each other, but not for ever: a server may have one worker, which opens no other connection
// before it has answered.
func TestServerWithOneWorkerIsGreeted(t *testing.T) {
	authority := shoptest.NewAuthority(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(answerEmpty))
	server.Listener = netutil.LimitListener(server.Listener, 1)
	server.Config.SetKeepAlivesEnabled(false)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, host, time.Now().Add(time.Hour))}}
	server.StartTLS()
	t.Cleanup(server.Close)
	entry := target.Entry{Protocol: target.REST, URL: server.URL}
	dialled(t, target.Target{
		HTTP: 1, Steps: "x", Endpoints: map[string]target.Entry{"e": entry}, CACertificate: authority.Write(t),
	}, 4)
}

// A server that requests the client's certificate gets it, in both versions of TLS, and refuses clients without.
func TestClientCertificatesAndVersions(t *testing.T) {
	authority := shoptest.NewAuthority(t)
	trusted := authority.Write(t)
	shown := authority.Issue(t, host, time.Now().Add(time.Hour))
	certificate, key := shoptest.WritePair(t, shown)
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(trusted); err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	for name, c := range connected {
		if c.http == 3 {
			continue
		}
		for version, number := range versions {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.TLS.Version != number {
					t.Errorf("%s: version %x instead of %s", name, r.TLS.Version, version)
				}
				answerEmpty(w, r)
			}))
			server.EnableHTTP2 = true
			server.TLS = &tls.Config{
				Certificates: []tls.Certificate{shown}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MaxVersion: number,
			}
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			at := target.Target{
				HTTP: c.http, Steps: "x", Endpoints: map[string]target.Entry{"e": {Protocol: c.protocol, URL: server.URL}},
				CACertificate: trusted, TLSMin: "1.2",
			}
			for _, own := range []string{certificate, ""} {
				if at.ClientCert = own; own != "" {
					at.ClientKey = key
				}
				client, err := NewClient(at, 1)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				if err = client.Connect(t.Context()); err == nil {
					err = ask(t.Context(), Untraced(client.At(server.URL)), c.protocol)
				}
				if (err == nil) != (own != "") {
					t.Errorf("%s over TLS %s with certificate %q: %v", name, version, own, err)
				}
			}
		}
	}
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	wrong := target.Target{HTTP: 1, CACertificate: trusted, ClientCert: trusted, ClientKey: key}
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() {}, "client_certificate " + trusted + " with client_key " + key + ": "},
		{func() { wrong.ClientCert, wrong.ClientKey = certificate, certificate }, "client_key " + certificate + ": "},
		{func() { wrong.TLSMin, wrong.TLSMax = "1.3", "1.2" }, `tls_min "1.3" and tls_max "1.2" do not form a range of versions; versions: 1.2, 1.3`},
	} {
		c.change()
		_, err := NewClient(wrong, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), strings.Split(string(text), "\n")[1]) {
			t.Errorf("%v instead of %s", err, c.want)
		}
	}
}

func TestRefusedCertificates(t *testing.T) {
	authority, later := shoptest.NewAuthority(t), time.Now().Add(time.Hour)
	trusted := authority.Write(t)
	for name, c := range map[string]struct {
		shown tls.Certificate
		want  string
	}{
		"expired":            {authority.Issue(t, host, time.Now().Add(-time.Hour)), "certificate has expired"},
		"foreign":            {shoptest.NewAuthority(t).Issue(t, host, later), "certificate signed by unknown authority"},
		"for another name":   {authority.Issue(t, "shop.example", later), "cannot validate certificate for 127.0.0.1"},
		"for another number": {authority.Issue(t, "127.0.0.9", later), "certificate is valid for 127.0.0.9, not 127.0.0.1"},
	} {
		for spoken, one := range connected {
			t.Run(name+" over "+spoken, func(t *testing.T) {
				shop := start(t, one.http, c.shown)
				at := shop.Target(t, one.protocol, one.http)
				at.CACertificate = trusted
				client, err := NewClient(at, 1)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				err = client.Connect(t.Context())
				if err == nil {
					t.Fatal("the certificate was accepted")
				}
				for _, want := range []string{shop.URL, c.want, "must be within its validity period, issued for the URL's host", trusted} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v; expected %q", err, want)
					}
				}
				// Fails as in a load: nothing could be sent on such a connection.
				err = ask(t.Context(), Untraced(client.At(shop.URL)), one.protocol)
				if outcome.Of(err) != outcome.Client {
					t.Errorf("%v instead of a failure of the client", err)
				}
				if seen := shop.Seen(); len(seen) != 0 {
					t.Errorf("%d requests were sent", len(seen))
				}
			})
		}
	}
}

// A handshake that stalls or breaks off leaves no connection to send on, after the same time over each protocol.
// TestBlockedUDP has the same for HTTP/3.
func TestBrokenHandshakes(t *testing.T) {
	trusted := shoptest.NewAuthority(t).Write(t)
	for name, c := range connected {
		for _, reset := range []bool{false, true} {
			if c.http == 3 {
				continue
			}
			t.Run(fmt.Sprintf("%s, reset: %v", name, reset), func(t *testing.T) {
				t.Parallel()
				listener, err := net.Listen("tcp", host+":0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = listener.Close() })
				go func() {
					for {
						connection, err := listener.Accept()
						if err != nil {
							return
						}
						defer connection.Close()
						if reset {
							_, _ = connection.Read(make([]byte, 1))
							_ = connection.(*net.TCPConn).SetLinger(0)
							_ = connection.Close()
						}
					}
				}()
				entry := target.Entry{Protocol: c.protocol, URL: "https://" + listener.Addr().String()}
				client, err := NewClient(target.Target{
					HTTP: c.http, CACertificate: trusted, Entry: map[target.Channel]target.Entry{target.Web: entry},
				}, 1)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(client.Close)
				limited, cancel := context.WithTimeout(t.Context(), 5*dialTimeout)
				defer cancel()
				began := time.Now()
				err = ask(limited, Untraced(client.At(entry.URL)), c.protocol)
				if took := time.Since(began); outcome.Of(err) != outcome.Client || took > dialTimeout*3/2 {
					t.Errorf("%s after %v: %v", outcome.Of(err), took, err)
				}
			})
		}
	}
}

// Customers can be as far away as the network allows: the time limit for a connection has room for its round trips.
func TestDistantCustomersConnect(t *testing.T) {
	for name, c := range connected {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, at := secure(t, c.protocol, c.http)
			at.Networks = map[target.Channel]target.Network{target.Web: {RTTMs: link.MaxRTT.Seconds() * 1e3}}
			customers, err := NewCustomers(at, func([]target.Channel) int { return 1 }, &wire.Meter{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(customers.Close)
			if err := customers.Connect(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBlockedUDP(t *testing.T) {
	silent, err := net.ListenPacket("udp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	url := "https://" + silent.LocalAddr().String()
	at := target.Target{
		HTTP: 3, CACertificate: shoptest.NewAuthority(t).Write(t),
		Entry: map[target.Channel]target.Entry{target.Web: {Protocol: target.REST, URL: url}},
	}
	client, err := NewClient(at, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	err = client.Connect(t.Context())
	if want := "HTTP/3 needs UDP at this port, which a firewall may block"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; expected %q", err, want)
	}
	if err := ask(t.Context(), Untraced(client.At(url)), target.REST); outcome.Of(err) != outcome.Client {
		t.Errorf("%v instead of a failure of the client", err)
	}
}

// The next request reopens a QUIC connection that the shop closed, and closed connections leave no sockets open.
func TestLostQUICConnection(t *testing.T) {
	shop, at := secure(t, target.REST, 3)
	before := sockets(t)
	client := dialled(t, at, 1)
	shop.CloseConnections()
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for client.Meter().Dialed() < 2 {
		if err := ask(limited, Untraced(client.At(shop.URL)), target.REST); limited.Err() != nil {
			t.Fatal(err)
		}
	}
	if err := ask(limited, Untraced(client.At(shop.URL)), target.REST); err != nil {
		t.Error(err)
	}
	client.Close()
	for sockets(t) > before {
		if limited.Err() != nil {
			t.Fatalf("%d sockets are left, %d before", sockets(t), before)
		}
		time.Sleep(time.Millisecond)
	}
}

func sockets(t *testing.T) (count int) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("this system does not tell which sockets are open: %v", err)
	}
	for _, file := range files {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", file.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			count++
		}
	}
	return count
}

func TestUnreadableCACertificate(t *testing.T) {
	shop := shoptest.Start(t)
	none := filepath.Join(t.TempDir(), "none.pem")
	nonsense := filepath.Join(t.TempDir(), "nonsense.pem")
	if err := os.WriteFile(nonsense, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{none: "no such file", nonsense: "has no certificate in PEM form"} {
		at := shop.Target(t, target.REST, 2)
		at.CACertificate = file
		if _, err := NewClient(at, 1); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}
