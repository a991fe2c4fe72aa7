// Package rawproto lets one connect-go client or handler carry all types of messages, as bytes that callers convert.
package rawproto

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"connectrpc.com/connect"
)

// Message is a message on its way through connect-go: typed if Of is set, otherwise bytes.
type Message struct {
	Of    proto.Message
	Bytes []byte
}

// Codec is connect-go's binary codec for Messages. It has the name of the library's own codec, and replaces it.
type Codec struct{}

var _ connect.Codec = Codec{}

func (Codec) Name() string                          { return "proto" }
func (Codec) IsBinary() bool                        { return true }
func (c Codec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalStable encodes a message deterministically, so that a URL with its bytes can be a cache key.
func (Codec) MarshalStable(message any) ([]byte, error) {
	return encode(proto.MarshalOptions{Deterministic: true}, nil, message)
}

func (Codec) MarshalAppend(to []byte, message any) ([]byte, error) {
	return encode(proto.MarshalOptions{}, to, message)
}

func encode(options proto.MarshalOptions, to []byte, message any) ([]byte, error) {
	switch m := message.(type) {
	case *Message:
		if m.Of == nil {
			return append(to, m.Bytes...), nil
		}
		return options.MarshalAppend(to, m.Of)
	case proto.Message: // such as a gRPC status
		return options.MarshalAppend(to, m)
	}
	return nil, fmt.Errorf("a %T is not a message", message)
}

// Unmarshal decodes a message. The library owns the bytes and reuses them.
func (Codec) Unmarshal(from []byte, message any) error {
	switch m := message.(type) {
	case *Message:
		if m.Of == nil {
			m.Bytes = bytes.Clone(from)
			return nil
		}
		return proto.Unmarshal(from, m.Of)
	case proto.Message:
		return proto.Unmarshal(from, m)
	}
	return fmt.Errorf("a %T is not a message", message)
}
