// Package elasticsearch takes the place of Elasticsearch's client in the Jaeger that is compiled here.
//
// Jaeger keeps traces in memory here. The client has 847 packages, a third of the work of compiling Jaeger, and Jaeger
// uses what is below. Its official release has the client.
package elasticsearch

import (
	"errors"
	"net/http"

	"github.com/elastic/go-elasticsearch/v9/esapi"
)

// ErrLeftOut is the error of every client.
var ErrLeftOut = errors.New("this Jaeger was compiled without Elasticsearch's client: take Jaeger's official release")

// Config has the client's fields that Jaeger sets.
type Config struct {
	Addresses            []string
	Username             string
	Password             string
	DiscoverNodesOnStart bool
	CompressRequestBody  bool
	Header               http.Header
	Transport            http.RoundTripper
}

// Client has the client's field that Jaeger reads.
type Client struct {
	Indices *esapi.Indices
}

// NewClient fails.
func NewClient(Config) (*Client, error) { return nil, ErrLeftOut }
