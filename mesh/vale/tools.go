//go:build tools

// Package tools pins Vale, a linter of prose.
package tools

import _ "github.com/errata-ai/vale/v3/cmd/vale"
