//go:build tools

// Package tools pins kube-score, a linter of manifests.
package tools

import _ "github.com/zegl/kube-score/cmd/kube-score"
