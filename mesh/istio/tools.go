//go:build tools

// Package tools keeps Istio's commands among this module's requirements, so that `go mod tidy` does not drop them.
package tools

import (
	_ "istio.io/istio/istioctl/cmd/istioctl"
	_ "istio.io/istio/pilot/cmd/pilot-agent"
)
