// Package esapi has the names of Elasticsearch's API that Jaeger uses.
package esapi

import (
	"errors"
	"io"
)

// Response is an answer of Elasticsearch.
type Response struct {
	StatusCode int
}

// String returns nothing.
func (*Response) String() string { return "" }

// Indices are an Elasticsearch's indices.
type Indices struct{}

// PutIndexTemplate fails. Nothing calls it, as no client can be made.
func (*Indices) PutIndexTemplate(string, io.Reader) (*Response, error) {
	return nil, errors.ErrUnsupported
}
