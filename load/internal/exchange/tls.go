package exchange

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/net/http2"

	"hopwise/load/internal/target"
)

// newTLS returns the TLS settings for the target's entries, with the trusted certificates; nil without TLS.
func newTLS(t target.Target) (*tls.Config, error) {
	if t.CACertificate == "" {
		return nil, nil
	}
	text, err := os.ReadFile(t.CACertificate)
	if err != nil {
		return nil, fmt.Errorf("ca_certificate: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ca_certificate %s: has no certificate in PEM form", t.CACertificate)
	}
	settings := &tls.Config{RootCAs: trusted, MinVersion: versions[cmp.Or(t.TLSMin, "1.3")], MaxVersion: versions[cmp.Or(t.TLSMax, "1.3")]}
	if settings.MinVersion == 0 || settings.MaxVersion < settings.MinVersion {
		return nil, fmt.Errorf("tls_min %q and tls_max %q do not form a range of versions; versions: 1.2, 1.3", t.TLSMin, t.TLSMax)
	}
	if t.ClientCert != "" {
		shown, err := tls.LoadX509KeyPair(t.ClientCert, t.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("client_certificate %s with client_key %s: %w", t.ClientCert, t.ClientKey, err)
		}
		settings.Certificates = []tls.Certificate{shown}
	}
	return settings, nil
}

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// explain adds to the error of an attempt to open a connection what such a connection requires.
func (c *Client) explain(err error) error {
	if isUnanswered(err) {
		return fmt.Errorf("%w; HTTP/3 needs UDP at this port, which a firewall may block: let it pass, or choose HTTP/2", err)
	}
	if !isCertificate(err) {
		return err
	}
	return fmt.Errorf("%w; a certificate must be within its validity period, issued for the URL's host, and signed by the one in %s", err, c.caCertificate)
}

func isCertificate(err error) bool {
	refused := (*tls.CertificateVerificationError)(nil)
	return errors.As(err, &refused)
}

// cause returns why no gRPC connection can be opened to an address, which a channel does not report.
func (c *Client) cause(ctx context.Context, address string) error {
	connection, err := c.dialHTTP(ctx, 2, address)
	if err != nil {
		return err
	}
	_ = connection.Close()
	return errNoHTTP2
}

// unopened is why a connection could not be opened. errors.Is does not find the cause: if the time for that was over,
// the deadlines of requests that wait for the connection may not have passed.
type unopened struct{ cause error }

func (u *unopened) Error() string      { return u.cause.Error() }
func (u *unopened) As(target any) bool { return errors.As(u.cause, target) }

// dialHTTP opens a connection for HTTP/1.1 or 2, with TLS if the target's entries have it. An error is unopened.
func (c *Client) dialHTTP(ctx context.Context, version int, address string) (net.Conn, error) {
	connection, err := c.dial(ctx, "tcp", address)
	if err == nil && c.tls != nil {
		connection, err = c.encrypt(ctx, version, address, connection)
	}
	if err != nil {
		return nil, &unopened{err}
	}
	return connection, nil
}

func (c *Client) encrypt(ctx context.Context, version int, address string, connection net.Conn) (net.Conn, error) {
	settings := c.tls.Clone()
	if version == 2 {
		settings.NextProtos = []string{http2.NextProtoTLS}
	}
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	settings.ServerName = name
	// gRPC and HTTP/3 have the same time limit.
	limited, cancel := context.WithTimeout(ctx, c.openLimit())
	defer cancel()
	encrypted := tls.Client(connection, settings)
	err = encrypted.HandshakeContext(limited)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no TLS handshake within %v", c.openLimit())
	case err == nil && version == 2 && encrypted.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS:
		err = errNoHTTP2
	}
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return encrypted, nil
}
