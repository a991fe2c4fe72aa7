package shoptest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// rule maps requests at the edge to calls of a method.
type rule struct {
	Get  string `yaml:"get"`
	Post string `yaml:"post"`
	Body string `yaml:"body"`
}

// readRules reads the real edge's rules: the full name of each method, with the requests that call it.
func readRules() (rules map[string]rule, err error) {
	text, err := os.ReadFile("../../../gateway/envoy/transcoding.yaml") // from the folder of the package under test
	if err == nil {
		err = yaml.Unmarshal(text, &rules)
	}
	return rules, err
}

var pathVariable = regexp.MustCompile(`\\\{(\w+)\\\}`)

// match returns the message's fields from the path, and whether the rule matches the request.
func (r rule) match(request *http.Request) (fields map[string]any, ok bool) {
	template := r.Get
	if request.Method == http.MethodPost {
		template = r.Post
	}
	pattern := regexp.MustCompile("^" + pathVariable.ReplaceAllString(regexp.QuoteMeta(template), `(?P<$1>[^/:]+)`) + "$")
	values := pattern.FindStringSubmatch(request.URL.Path)
	if template == "" || values == nil {
		return nil, false
	}
	fields = map[string]any{}
	for i, name := range pattern.SubexpNames()[1:] {
		fields[name] = values[i+1]
	}
	return fields, true
}

// transcode turns a request into a call of the gRPC services, as Envoy's transcoder does, and their answer into JSON.
func (s *Shop) transcode(r *http.Request, seen Seen) (int, any) {
	for method, rule := range s.rules {
		fields, ok := rule.match(r)
		if !ok {
			continue
		}
		text := seen.Body
		if rule.Body == "" {
			text, _ = json.Marshal(fields) // strings, and lists of strings
		}
		answer, err := s.call(r.Context(), method, func(message any) error {
			if err := protojson.Unmarshal(text, message.(proto.Message)); err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			return setQuery(message.(proto.Message), r.URL.Query())
		})
		if err != nil {
			return http.StatusBadRequest, object{"code": status.Code(err), "message": status.Convert(err).Message()}
		}
		return http.StatusOK, answer
	}
	return http.StatusNotFound, object{"code": codes.NotFound, "message": "no such route"}
}

// setQuery sets the fields that the parameters name: a repeated field has a parameter for each of its values.
func setQuery(message proto.Message, query url.Values) error {
	fields := map[string]any{}
	for name, values := range query {
		field := message.ProtoReflect().Descriptor().Fields().ByTextName(name)
		if field == nil {
			return status.Errorf(codes.InvalidArgument, "there is no field %s", name)
		}
		if fields[name] = values[0]; field.IsList() {
			fields[name] = values
		}
	}
	text, _ := json.Marshal(fields) // strings, and lists of strings
	more := message.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(text, more); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	proto.Merge(message, more)
	return nil
}

// call runs a method of the gRPC services; it returns one message as an object, and a stream as a list of its messages.
func (s *Shop) call(ctx context.Context, method string, decode func(any) error) (any, error) {
	dot := strings.LastIndex(method, ".")
	service := s.services[method[:dot]]
	called := func(name string) bool { return name == method[dot+1:] }
	if i := slices.IndexFunc(service.desc.Methods, func(d grpc.MethodDesc) bool { return called(d.MethodName) }); i >= 0 {
		answer, err := service.desc.Methods[i].Handler(service.server, ctx, decode, nil)
		if err != nil {
			return nil, err
		}
		return generic(answer.(proto.Message)), nil
	}
	i := slices.IndexFunc(service.desc.Streams, func(d grpc.StreamDesc) bool { return called(d.StreamName) })
	messages := &collector{ctx: ctx, decode: decode, all: []object{}}
	err := service.desc.Streams[i].Handler(service.server, messages)
	return messages.all, err
}

// collector is a server stream that keeps its messages.
type collector struct {
	grpc.ServerStream
	ctx    context.Context
	decode func(any) error
	all    []object
}

func (c *collector) Context() context.Context { return c.ctx }

func (c *collector) RecvMsg(message any) error { return c.decode(message) }

func (c *collector) SendMsg(message any) error {
	c.all = append(c.all, generic(message.(proto.Message)))
	return nil
}

// generic returns a message in the form of Envoy's transcoder, with JSON's types, so that a test can change it.
func generic(message proto.Message) (made object) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		panic(err) // the fake's own messages
	}
	return made
}
