// Package need compares an answer with the fields that a screen needs; all other content was fetched needlessly.
package need

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"hopwise/load/internal/jsonline"
)

// minPacked is the minimum size of answers that the shop compresses, in bytes.
const minPacked = 1024

// Fields are the fields of a resource that a screen shows, by their names in REST.
type Fields []string

// Beyond measures the content of answers: all of it, and the part that the screen does not need.
type Beyond struct {
	Fields       int64 `json:"fields"`        // single values in all resources
	FieldsBeyond int64 `json:"fields_beyond"` // values that the screen does not show
	BytesBeyond  int64 `json:"bytes_beyond"`  // bytes that the screen does not need, in the body's encoding, decompressed
	PackedBeyond int64 `json:"packed_beyond"` // the same for bodies as received, compressed or not
}

func (b *Beyond) Add(other Beyond) {
	b.Fields += other.Fields
	b.FieldsBeyond += other.FieldsBeyond
	b.BytesBeyond += other.BytesBeyond
	b.PackedBeyond += other.PackedBeyond
}

// InContract returns the names that fields have in the contract, given their names in REST.
func InContract(fields []string) []string {
	names := slices.Clone(fields)
	if at := slices.Index(names, "placed_at"); at >= 0 {
		names[at] = "create_time"
	}
	return names
}

// OfJSON compares a body of REST or GraphQL. Its resources are the outermost objects with all needed fields.
func (f Fields) OfJSON(body []byte, packed bool) (b Beyond) {
	var whole any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&whole) != nil {
		return b
	}
	before, _ := jsonline.Of(whole) // decoded JSON can be encoded
	f.prune(whole, &b)
	after, _ := jsonline.Of(whole)
	b.weigh(before, after, packed)
	return b
}

func (f Fields) prune(value any, b *Beyond) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			f.prune(each, b)
		}
	case map[string]any:
		names := map[string]string{}
		for name := range v {
			names[snake(name)] = name
		}
		if slices.ContainsFunc(f, func(field string) bool { return names[field] == "" }) {
			for _, each := range v {
				f.prune(each, b)
			}
			return
		}
		for field, name := range names {
			count := countJSON(v[name])
			b.Fields += count
			if !slices.Contains(f, field) {
				b.FieldsBeyond += count
				delete(v, name)
			}
		}
	}
}

func countJSON(value any) (count int64) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			count += countJSON(each)
		}
	case map[string]any:
		for _, each := range v {
			count += countJSON(each)
		}
	default:
		return 1
	}
	return count
}

// snake returns the REST name of a GraphQL field.
func snake(name string) string {
	var text strings.Builder
	for _, letter := range name {
		if unicode.IsUpper(letter) {
			text.WriteByte('_')
		}
		text.WriteRune(unicode.ToLower(letter))
	}
	return text.String()
}

// OfMessage compares a message, whose resources are the outermost messages that could have all needed fields.
func (f Fields) OfMessage(message proto.Message, packed bool) (b Beyond) {
	pruned := proto.Clone(message)
	names := InContract(f)
	pruneMessage(pruned.ProtoReflect(), names, &b)
	before, _ := proto.Marshal(message)
	after, _ := proto.Marshal(pruned)
	b.weigh(before, after, packed)
	return b
}

func pruneMessage(m protoreflect.Message, names []string, b *Beyond) {
	isResource := !slices.ContainsFunc(names, func(name string) bool { return m.Descriptor().Fields().ByName(protoreflect.Name(name)) == nil })
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case !isResource && field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				pruneMessage(value.List().Get(i).Message(), names, b)
			}
		case isResource:
			count := countField(field, value)
			b.Fields += count
			if !slices.Contains(names, string(field.Name())) {
				b.FieldsBeyond += count
				m.Clear(field)
			}
		}
		return true
	})
}

func countField(field protoreflect.FieldDescriptor, value protoreflect.Value) (count int64) {
	switch {
	case field.Message() == nil && field.IsList():
		return int64(value.List().Len())
	case field.Message() == nil || field.Message().ParentFile().Package() == "google.protobuf":
		return 1
	case field.IsList():
		for i := range value.List().Len() {
			count += countMessage(value.List().Get(i).Message())
		}
		return count
	}
	return countMessage(value.Message())
}

func countMessage(m protoreflect.Message) (count int64) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		count += countField(field, value)
		return true
	})
	return count
}

// weigh records by how many bytes the whole answer is larger than an answer with only the needed fields.
func (b *Beyond) weigh(whole, needed []byte, packed bool) {
	b.BytesBeyond = int64(len(whole) - len(needed))
	b.PackedBeyond = b.BytesBeyond
	if packed {
		b.PackedBeyond = sentSize(whole) - sentSize(needed)
	}
}

// sentSize returns the size that a body has when the shop sends it to a client that accepts gzip.
func sentSize(body []byte) int64 {
	if len(body) < minPacked {
		return int64(len(body))
	}
	var text bytes.Buffer
	packer, _ := gzip.NewWriterLevel(&text, gzip.BestSpeed)
	_, _ = packer.Write(body)
	_ = packer.Close()
	return int64(text.Len())
}
