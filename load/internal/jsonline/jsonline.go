// Package jsonline writes JSON values as lines: without spaces, with sorted keys of maps, and without escapes for HTML.
package jsonline

import (
	"bytes"
	"encoding/json"
	"io"
)

// NewEncoder returns an encoder that writes a line for each value.
func NewEncoder(w io.Writer) *json.Encoder {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder
}

// Of returns the line of a value, without its end.
func Of(value any) ([]byte, error) {
	var line bytes.Buffer
	err := NewEncoder(&line).Encode(value)
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), err
}
