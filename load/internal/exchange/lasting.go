package exchange

import (
	"net/http"

	"google.golang.org/grpc"
)

// NewTransport returns what sends HTTP requests on one connection of its own, opened by the first of them. These are no journey's:
// they have no span and may last.
func (c *Client) NewTransport() http.RoundTripper { return c.newTransport(c.http, 1) }

// NewChannel returns a gRPC channel of one connection of its own, for RPCs that are no journey's; options come after the usual ones.
func (c *Client) NewChannel(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return c.newChannel(address, options...)
}
