package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

var (
	_ transport = (*http.Transport)(nil)
	_ transport = (*quicTransport)(nil)
)

type quicTransport struct{ http3.Transport }

// CloseIdleConnections closes all connections: otherwise a QUIC connection would last until its idle timeout.
func (t *quicTransport) CloseIdleConnections() { _ = t.Close() }

// connectionIdle is how long a connection without a request is kept; edges have the same limit.
const connectionIdle = 5 * time.Minute

func (c *Client) newQUICTransport() *quicTransport {
	return &quicTransport{http3.Transport{
		TLSClientConfig:    c.tls,
		DisableCompression: true,
		Dial:               c.dialQUIC,
		QUICConfig: &quic.Config{
			HandshakeIdleTimeout:           c.openLimit(),
			MaxIdleTimeout:                 connectionIdle,
			InitialStreamReceiveWindow:     streamWindow,
			MaxStreamReceiveWindow:         streamWindow,
			InitialConnectionReceiveWindow: connectionWindow,
			MaxConnectionReceiveWindow:     connectionWindow,
		},
	}}
}

// dialQUIC opens a connection on a new UDP socket, which is closed with the connection.
func (c *Client) dialQUIC(ctx context.Context, address string, settings *tls.Config, config *quic.Config) (*quic.Conn, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, &unopened{err}
	}
	socket, err := c.listen()
	if err != nil {
		return nil, &unopened{err}
	}
	packets := &quic.Transport{Conn: socket}
	end := func() {
		_ = packets.Close()
		_ = socket.Close()
	}
	connection, err := packets.Dial(ctx, to, settings, config)
	if err != nil {
		end()
		return nil, &unopened{err}
	}
	context.AfterFunc(connection.Context(), end)
	return connection, nil
}

func (c *Client) listen() (net.PacketConn, error) {
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return c.reach.Packets(c.meter.Packets(socket)), nil
}

// isUnanswered tells whether a QUIC connection failed to open because no packet was answered.
func isUnanswered(err error) bool {
	late, idle := (*quic.HandshakeTimeoutError)(nil), (*quic.IdleTimeoutError)(nil)
	return errors.As(err, &late) || errors.As(err, &idle)
}
