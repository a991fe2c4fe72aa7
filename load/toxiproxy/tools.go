//go:build tools

// Package tools pins Toxiproxy, which disturbs the connections between two components.
package tools

import _ "github.com/Shopify/toxiproxy/v2/cmd/server"
