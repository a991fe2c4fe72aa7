// Package readmask returns the fields of a resource that a caller selects with read_mask (AIP-157).
//
// A path has dots between the names of nested fields, and * for each entry of a list: lines.*.product_id (AIP-161).
package readmask

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"hopwise/services/internal/shoperr"
)

const (
	field    = "read_mask"
	each     = "*"
	maxPaths = 100
)

// Mask has the selected fields of a resource; nil for all fields.
type Mask struct {
	resource protoreflect.MessageDescriptor
	fields   fields
}

// fields are the names of fields, each with the fields inside it; these are empty for a complete field.
type fields map[string]fields

// masked is a request with a mask.
type masked interface{ GetReadMask() *fieldmaskpb.FieldMask }

// Of returns the mask of a request, or an error that names the valid fields. An example of the method is
// "/shop.product.v1.ProductService/GetProduct".
func Of(request any, method string) (*Mask, error) {
	asks, isMasked := request.(masked)
	if !isMasked || len(asks.GetReadMask().GetPaths()) == 0 {
		return nil, nil
	}
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	described, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, err
	}
	return Parse(field, asks.GetReadMask().GetPaths(), resourceOf(described.(protoreflect.MethodDescriptor).Output()))
}

// Parse returns the mask with the paths in an argument, or an error that names the valid fields of the resource.
func Parse(argument string, paths []string, resource protoreflect.MessageDescriptor) (*Mask, error) {
	if len(paths) > maxPaths {
		return nil, shoperr.Invalid(argument, "%s has %d paths; at most %d are valid", argument, len(paths), maxPaths)
	}
	for _, path := range paths {
		if path == each {
			return nil, nil
		}
		if err := check(argument, path, resource); err != nil {
			return nil, err
		}
	}
	distinct := &fieldmaskpb.FieldMask{Paths: slices.Clone(paths)}
	distinct.Normalize() // a complete field covers the fields inside it
	mask := &Mask{resource, fields{}}
	for _, path := range distinct.Paths {
		at := mask.fields
		for name := range strings.SplitSeq(path, ".") {
			if at[name] == nil {
				at[name] = fields{}
			}
			at = at[name]
		}
	}
	return mask, nil
}

// resourceOf returns the resource in an answer, single or in a list.
func resourceOf(answer protoreflect.MessageDescriptor) protoreflect.MessageDescriptor {
	first := answer.Fields().Get(0)
	if strings.HasSuffix(string(answer.Name()), "Response") && first.IsList() {
		return first.Message()
	}
	return answer
}

// check returns an error that lists the valid fields if there is no field at a path.
func check(argument, path string, in protoreflect.MessageDescriptor) error {
	inList, names := false, strings.Split(path, ".")
	for depth, name := range names {
		if inList && name == each {
			inList = false
			continue
		}
		var known protoreflect.FieldDescriptor
		if in != nil && !inList {
			known = in.Fields().ByName(protoreflect.Name(name))
		}
		if known == nil {
			return shoperr.Invalid(argument, "%s names %.80q, which is no field; valid: %s", argument, path, valid(names[:depth], in, inList))
		}
		in, inList = inside(known), known.IsList() && inside(known) != nil
	}
	return nil
}

// valid lists the paths below a field, or only the field if there are none.
func valid(holder []string, in protoreflect.MessageDescriptor, inList bool) string {
	at := strings.Join(holder, ".")
	switch {
	case in == nil:
		return at
	case inList:
		return at + "." + each
	}
	paths := make([]string, in.Fields().Len())
	for i := range paths {
		paths[i] = strings.TrimPrefix(at+"."+string(in.Fields().Get(i).Name()), ".")
	}
	return strings.Join(paths, ", ")
}

// inside returns the message type of a field; nil if the fields inside it cannot be named, as in a timestamp, whose
// type is not the contract's.
func inside(f protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if f.Message() == nil || f.Message().ParentFile().Package() == "google.protobuf" {
		return nil
	}
	return f.Message()
}

// Keep removes, from each resource in an answer, the fields that the mask does not name.
func (m *Mask) Keep(answer any) {
	message, isMessage := answer.(proto.Message)
	if m == nil || !isMessage {
		return
	}
	whole := message.ProtoReflect()
	if whole.Descriptor() == m.resource {
		keep(whole, m.fields)
		return
	}
	list := whole.Get(whole.Descriptor().Fields().Get(0)).List()
	for i := range list.Len() {
		keep(list.Get(i).Message(), m.fields)
	}
}

func keep(message protoreflect.Message, kept fields) {
	message.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch inside, isKept := kept[string(f.Name())]; {
		case !isKept:
			message.Clear(f)
		case len(inside) == 0 || f.IsList() && len(inside[each]) == 0:
		case f.IsList():
			for i := range value.List().Len() {
				keep(value.List().Get(i).Message(), inside[each])
			}
		default:
			keep(value.Message(), inside)
		}
		return true
	})
}

// Select returns the mask's fields of a document, or of each document in a list, by their names in JSON.
func (m *Mask) Select(document any) any {
	if m == nil {
		return document
	}
	value := reflect.ValueOf(document)
	if value.Kind() == reflect.Slice {
		return selectIn(value, fields{each: m.fields})
	}
	return selectIn(value, m.fields)
}

func selectIn(value reflect.Value, kept fields) any {
	switch {
	case value.Kind() == reflect.Slice && len(kept[each]) > 0:
		some := make([]any, value.Len())
		for i := range some {
			some[i] = selectIn(value.Index(i), kept[each])
		}
		return some
	case value.Kind() == reflect.Struct && len(kept) > 0:
		some := make(map[string]any, len(kept))
		for i := range value.NumField() {
			name, option, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			if inside, isKept := kept[name]; isKept && (option == "" || !value.Field(i).IsZero()) {
				some[name] = selectIn(value.Field(i), inside)
			}
		}
		return some
	}
	return value.Interface()
}
