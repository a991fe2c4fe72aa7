// Package shoptest is a small shop for tests of the generator, like httptest for servers. It answers the journeys over
// GraphQL, REST and gRPC from the facts of the seeded data, and can be set to answer wrongly.
package shoptest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"hopwise/load/internal/target"
)

// Seen is one request that reached the shop.
type Seen struct {
	Method, Path, Query, Proto string
	Header                     http.Header
	Body                       []byte
}

// Shop is a running fake shop.
type Shop struct {
	URL string

	// Fault, if set, is called first for each request; it returns true if it has answered the request itself.
	Fault func(w http.ResponseWriter, r Seen) bool
	// Bend, if set, may change an answer before it is encoded.
	Bend func(answer map[string]any)
	// BendRPC, if set, may change the answer of a unary RPC.
	BendRPC func(answer proto.Message)
	// Transcoded answers REST requests as Envoy's gRPC-JSON transcoder does.
	Transcoded bool
	// Tags adds an entity tag to answers to GET, by which clients can revalidate them; all answers except products are
	// private.
	Tags bool
	// Gzip compresses answers for clients that accept it.
	Gzip bool
	// Watched simulates a customer's stream of notifications; an error before the stream is open refuses the stream.
	Watched func(Stream) error
	// Told returns the positions of a customer's updates, newest first.
	Told func(user int64) []int64

	mu        sync.Mutex
	seen      []Seen
	persisted map[string]string
	orders    atomic.Int64
	server    *httptest.Server

	connections []*quic.Conn
	sockets     []*websocket.Conn
	open        atomic.Int64 // connections over TCP
	rpc         *grpc.Server
	services    map[string]service // by full name
	browsers    map[string]http.Handler
	rules       map[string]rule // rules of the transcoder
}

// Serve starts a server that speaks HTTP/1.1 and HTTP/2 without TLS, until the test ends; change adjusts it before.
func Serve(t testing.TB, handler http.HandlerFunc, change ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	for _, each := range change {
		each(server)
	}
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Start starts a shop that speaks HTTP/1.1 and HTTP/2 without TLS, until the test ends.
func Start(t testing.TB) *Shop {
	t.Helper()
	s, protocols := prepare(t)
	protocols.SetUnencryptedHTTP2(true)
	s.server.Start()
	s.URL = s.server.URL
	return s
}

// StartTLS starts a shop that speaks HTTP/1.1 and HTTP/2 over TLS with a certificate, until the test ends.
func StartTLS(t testing.TB, shown tls.Certificate) *Shop {
	t.Helper()
	s, protocols := prepare(t)
	protocols.SetHTTP2(true)
	s.server.EnableHTTP2 = true
	s.server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // tests have clients that refuse the certificate
	s.server.StartTLS()
	s.URL = s.server.URL
	return s
}

// StartQUIC starts a shop that speaks HTTP/3 with a certificate, until the test ends.
func StartQUIC(t testing.TB, shown tls.Certificate) *Shop {
	t.Helper()
	s, _ := prepare(t)
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	settings := http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{shown}})
	listener, err := quic.ListenEarly(socket, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		s.CloseConnections()
		_ = socket.Close()
	})
	server := &http3.Server{Handler: s.server.Config.Handler}
	go func() {
		for {
			connection, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			s.mu.Lock()
			s.connections = append(s.connections, connection)
			s.mu.Unlock()
			go func() { _ = server.ServeQUICConn(connection) }()
		}
	}()
	s.URL = "https://" + socket.LocalAddr().String()
	return s
}

// prepare returns a shop whose server has not started yet, and its versions of HTTP.
func prepare(t testing.TB) (*Shop, *http.Protocols) {
	t.Helper()
	rules, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	s := &Shop{persisted: map[string]string{}, services: map[string]service{}, rules: rules}
	s.rpc = s.newRPC()
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	s.server.Config.Protocols = &protocols
	s.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	t.Cleanup(s.server.Close)
	return s, &protocols
}

// Target returns a target at which every channel speaks the protocol.
func (s *Shop) Target(t testing.TB, p target.Protocol, version int) target.Target {
	t.Helper()
	s.Transcoded = p == target.RESTTranscoded
	entry := map[target.Channel]target.Entry{}
	for _, channel := range target.Channels() {
		entry[channel] = target.Entry{Protocol: p, URL: s.URL}
	}
	return target.Target{
		Topology: "fake", Trial: "test", HTTP: version, Entry: entry, JWTPrivateKey: WriteKey(t),
	}
}

// WriteKey writes a new Ed25519 key in PEM form and returns its path.
func WriteKey(t testing.TB) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Seen returns the requests so far, except greetings that only open a connection.
func (s *Shop) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// Connections returns the number of open connections.
func (s *Shop) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	overQUIC := slices.DeleteFunc(slices.Clone(s.connections), func(c *quic.Conn) bool { return c.Context().Err() != nil })
	return int(s.open.Load()) + len(overQUIC)
}

// CloseConnections closes all connections, like a restarted shop.
func (s *Shop) CloseConnections() {
	s.server.CloseClientConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, connection := range s.connections {
		_ = connection.CloseWithError(0, "")
	}
	s.connections = nil
	for _, socket := range s.sockets {
		_ = socket.CloseNow()
	}
	s.sockets = nil
}

// Forget drops the registered queries, as a restarted gateway does.
func (s *Shop) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.persisted)
}

func (s *Shop) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	request := Seen{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Proto: r.Proto, Header: r.Header, Body: readAll(r)}
	s.mu.Lock()
	s.seen = append(s.seen, request)
	s.mu.Unlock()
	if s.Fault != nil && s.Fault(w, request) {
		return
	}
	if r.URL.Path == "/graphql" {
		s.send(w, r, http.StatusOK, s.graphQL(request))
		return
	}
	if r.URL.Path == "/graphql/stream" {
		s.serveSubscription(w, r, request)
		return
	}
	if service, ok := strings.CutPrefix(r.URL.Path, "/graphql/"); ok {
		s.send(w, r, http.StatusOK, s.serviceGraphQL(service, request))
		return
	}
	if handler, ok := s.browsers[r.URL.Path]; ok && isBrowserCall(r) {
		r.Body = io.NopCloser(bytes.NewReader(request.Body))
		handler.ServeHTTP(w, r)
		return
	}
	if isRPC(r) {
		s.serveRPC(w, r, request.Body)
		return
	}
	if s.serveNotifications(w, r) {
		return
	}
	if s.Transcoded {
		status, answer := s.transcode(r, request)
		s.send(w, r, status, answer)
		return
	}
	status, answer := s.rest(r, request)
	if fields := r.URL.Query().Get("fields"); fields != "" {
		answer = keepNamed(answer, strings.Split(fields+",amount_minor,currency,products,orders", ",")).(object)
	}
	s.send(w, r, status, answer)
}

func (s *Shop) send(w http.ResponseWriter, r *http.Request, status int, answer any) {
	if bendable, ok := answer.(map[string]any); ok && s.Bend != nil {
		s.Bend(bendable)
	}
	w.Header().Set("Content-Type", "application/json")
	if s.Tags && r.Method == http.MethodGet {
		text, _ := json.Marshal(answer)
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(text))
		policy := "private, no-cache"
		if strings.HasPrefix(r.URL.Path, "/v1/products") {
			policy = "public, max-age=60"
		}
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", policy)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if s.Gzip && r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		packed := gzip.NewWriter(w)
		_ = json.NewEncoder(packed).Encode(answer)
		_ = packed.Close()
		return
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
