//go:build tools

// Package tools keeps Jaeger's command among this module's requirements, so that `go mod tidy` does not drop it.
package tools

import _ "github.com/jaegertracing/jaeger/cmd/jaeger"
