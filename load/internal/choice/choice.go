// Package choice checks values that must be in a closed list.
package choice

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns an error that lists the valid values if the value is not among them. The error calls a value by the
// singular noun in what, and several values by the plural noun in whats.
func Check[T ~string](value T, valid []T, what, whats string) error {
	if slices.Contains(valid, value) {
		return nil
	}
	return fmt.Errorf("unknown %s %q; %s: %s", what, value, whats, List(valid))
}

func List[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}
