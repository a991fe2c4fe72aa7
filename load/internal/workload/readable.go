package workload

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

const (
	maxBytes = 16 << 10
	maxDepth = 8
	// maxColumn limits the nesting of blocks: each block is indented by at least two columns.
	maxColumn = 80
)

// readable refuses YAML that would cost a parser disproportionate memory or time, and features that no workload needs.
func readable(path string, text []byte) error {
	if len(text) > maxBytes {
		return fmt.Errorf("%s: the file has %d bytes; a workload has at most %d", path, len(text), maxBytes)
	}
	for rest, line := text, 1; len(rest) > 0; line++ {
		var first []byte
		if first, rest, _ = bytes.Cut(rest, []byte("\n")); !utf8.Valid(first) {
			return fmt.Errorf("%s:%d: not UTF-8", path, line)
		}
	}
	depth := 0
	for _, t := range lexer.Tokenize(string(text)) {
		switch t.Type {
		case token.AliasType, token.AnchorType, token.MergeKeyType:
			return fmt.Errorf("%s:%d: anchors and aliases are not accepted; write the value out", path, t.Position.Line)
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		block := t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType
		if depth > maxDepth || block && depth == 0 && t.Position.Column > maxColumn {
			return fmt.Errorf("%s:%d: nested too deeply for a workload", path, t.Position.Line)
		}
	}
	return nil
}
