package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"hopwise/load/internal/link"
)

const (
	sizeBytes = 8        // at the start of a request: the size of its answer
	maxBody   = 64 << 20 // bytes
	// The same value as in the generator, so that no window of HTTP/2 is too small for the fastest link.
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// caller sends a request of a given size over one open connection, and reads an answer of the wanted size.
type caller interface {
	call(request, answer int) error
	close()
}

type protocol struct {
	name    string
	address string
	open    func(address string, over *link.Link) (caller, error)
}

func serve() (protocols []protocol, stop func(), err error) {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, errors.Join(err, web.Close())
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, errors.Join(err, web.Close(), rpc.Close())
	}
	var versions http.Protocols
	versions.SetHTTP1(true)
	versions.SetUnencryptedHTTP2(true)
	httpServer := &http.Server{
		Handler: http.HandlerFunc(reply), Protocols: &versions, ReadHeaderTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connectionWindow},
	}
	grpcServer := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(replyRPC), grpc.MaxRecvMsgSize(maxBody),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connectionWindow))
	shown, trusted := certificate()
	quicServer := &http3.Server{
		Handler: http.HandlerFunc(reply), TLSConfig: &tls.Config{Certificates: []tls.Certificate{shown}}, QUICConfig: quicWindows(),
	}
	go func() { _ = httpServer.Serve(web) }()
	go func() { _ = grpcServer.Serve(rpc) }()
	go func() { _ = quicServer.Serve(packets) }()
	stop = func() {
		_ = httpServer.Close()
		grpcServer.Stop()
		_ = quicServer.Close()
		_ = packets.Close()
	}
	return []protocol{
		{"HTTP/1.1", web.Addr().String(), openHTTP(1)},
		{"HTTP/2", web.Addr().String(), openHTTP(2)},
		{"HTTP/3", packets.LocalAddr().String(), openQUIC(trusted)},
		{"gRPC", rpc.Addr().String(), openRPC},
	}, stop, nil
}

// certificate returns net/http's test certificate, which is valid for 127.0.0.1, and its root.
func certificate() (tls.Certificate, *x509.CertPool) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	return server.TLS.Certificates[0], trusted
}

func quicWindows() *quic.Config {
	return &quic.Config{
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
	}
}

func body(size, answer int) []byte {
	text := make([]byte, max(size, sizeBytes))
	binary.BigEndian.PutUint64(text, uint64(answer))
	return text
}

// nothing is the content of answers, made in advance so that this takes no time during a measurement.
var nothing = make([]byte, maxBody)

func answer(request []byte) ([]byte, error) {
	if len(request) < sizeBytes || binary.BigEndian.Uint64(request) > maxBody {
		return nil, errors.New("the request lacks the size of its answer")
	}
	return nothing[:binary.BigEndian.Uint64(request)], nil
}

func reply(w http.ResponseWriter, r *http.Request) {
	start := make([]byte, sizeBytes)
	if _, err := io.ReadFull(r.Body, start); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := answer(start)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		_, _ = w.Write(text)
	}
}

type httpCaller struct {
	http.RoundTripper
	url string
	end func()
}

func openHTTP(version int) func(string, *link.Link) (caller, error) {
	return func(address string, over *link.Link) (caller, error) {
		var versions http.Protocols
		versions.SetHTTP1(version == 1)
		versions.SetUnencryptedHTTP2(version == 2)
		transport := &http.Transport{
			Protocols: &versions, MaxConnsPerHost: 1,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return over.Dial(ctx, &net.Dialer{}, network, address)
			},
		}
		return &httpCaller{transport, "http://" + address, transport.CloseIdleConnections}, nil
	}
}

func openQUIC(trusted *x509.CertPool) func(string, *link.Link) (caller, error) {
	return func(address string, over *link.Link) (caller, error) {
		to, err := net.ResolveUDPAddr("udp", address)
		if err != nil {
			return nil, err
		}
		socket, err := net.ListenUDP("udp", nil)
		if err != nil {
			return nil, err
		}
		packets := &quic.Transport{Conn: over.Packets(socket)}
		transport := &http3.Transport{
			TLSClientConfig: &tls.Config{RootCAs: trusted}, QUICConfig: quicWindows(),
			Dial: func(ctx context.Context, _ string, settings *tls.Config, config *quic.Config) (*quic.Conn, error) {
				return packets.Dial(ctx, to, settings, config)
			},
		}
		return &httpCaller{transport, "https://" + address, func() {
			_ = transport.Close()
			_ = packets.Close()
			_ = socket.Close()
		}}, nil
	}
}

func (c *httpCaller) call(size, want int) error {
	request, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(body(size, want)))
	if err != nil {
		return err
	}
	response, err := c.RoundTrip(request)
	if err != nil {
		return err
	}
	got, err := io.Copy(io.Discard, response.Body)
	return check(int(got), want, errors.Join(err, response.Body.Close()))
}

func (c *httpCaller) close() { c.end() }

func check(got, want int, err error) error {
	if err == nil && got != want {
		return fmt.Errorf("the answer has %d bytes instead of %d", got, want)
	}
	return err
}

type raw struct{}

func (raw) Name() string                  { return "raw" }
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data // grpc has copied it for codecs of this kind
	return nil
}

func replyRPC(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	text, err := answer(request)
	if err != nil {
		return err
	}
	return stream.SendMsg(&text)
}

type rpcCaller struct{ channel *grpc.ClientConn }

func openRPC(address string, over *link.Link) (caller, error) {
	d := func(ctx context.Context, address string) (net.Conn, error) {
		return over.Dial(ctx, &net.Dialer{}, "tcp", address)
	}
	channel, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(d),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(maxBody)))
	return &rpcCaller{channel}, err
}

func (c *rpcCaller) call(size, want int) error {
	request, got := body(size, want), []byte(nil)
	err := c.channel.Invoke(context.Background(), "/echo/Echo", &request, &got)
	return check(len(got), want, err)
}

func (c *rpcCaller) close() { _ = c.channel.Close() }
