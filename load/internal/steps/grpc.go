package steps

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
)

// types resolves the messages inside a google.protobuf.Any.
type types interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// Mistake is a mistake in a plan: a step does not fit the target's description of its methods.
type Mistake struct{ error }

func (m Mistake) Unwrap() error { return m.error }

// Prepare finds the journeys' gRPC methods before the load: in a set of descriptors, or by the server's reflection.
func (p *Plan) Prepare(ctx context.Context, journeys []string, open func() *exchange.Exchange) error {
	asked := map[string]*protoregistry.Files{}
	for _, name := range journeys {
		for _, step := range p.byName[name].Steps {
			if step.RPC == "" || step.method != nil {
				continue
			}
			if err := p.describe(ctx, step, asked, open); err != nil {
				err = fmt.Errorf("%s: journey %s, step %s: %w", step.where(), name, step.Name, err)
				if ctx.Err() == nil {
					err = Mistake{err}
				}
				return err
			}
		}
	}
	return nil
}

func (p *Plan) describe(ctx context.Context, s *Step, asked map[string]*protoregistry.Files, open func() *exchange.Exchange) (err error) {
	service, method, _ := strings.Cut(s.RPC, "/")
	source, files, x := s.Set, (*protoregistry.Files)(nil), open()
	x.Toward(s.url)
	if source != "" {
		if files, err = filesOf(p.Descriptors[source]); err != nil {
			return fmt.Errorf("descriptors %s: %w", source, err)
		}
	} else {
		source = "the reflection of " + x.At()
		key := s.url + " " + service
		if files = asked[key]; files == nil {
			if files, err = requestFiles(ctx, x.Channel(""), service); err != nil {
				return fmt.Errorf("%s does not describe %s: %w; give descriptors: a file made by protoc --descriptor_set_out --include_imports", x.At(), service, err)
			}
			asked[key] = files
		}
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	described, is := found.(protoreflect.ServiceDescriptor)
	if err != nil || !is {
		return fmt.Errorf("%s has no service %s; services: %s", source, service, strings.Join(servicesIn(files), ", "))
	}
	s.method = described.Methods().ByName(protoreflect.Name(method))
	switch {
	case s.method == nil:
		return fmt.Errorf("%s has no method %s in %s; methods: %s", source, method, service, strings.Join(methodsIn(described), ", "))
	case s.method.IsStreamingClient():
		return fmt.Errorf("%s takes a stream of requests; a step sends one", s.RPC)
	}
	s.types = dynamicpb.NewTypes(files)
	if message := s.withoutVariables(); message != nil {
		return s.encode(message, dynamicpb.NewMessage(s.method.Input()))
	}
	return nil
}

// withoutVariables returns the message, with null in each field that has a variable; nil without a message.
func (s *Step) withoutVariables() []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(s.JSON, &fields) != nil || fields == nil {
		return nil
	}
	for name, value := range fields {
		if placeholder.Match(value) {
			fields[name] = json.RawMessage("null")
		}
	}
	return marshal(fields)
}

// encode converts the message from JSON to the method's request.
func (s *Step) encode(text []byte, request *dynamicpb.Message) error {
	if err := (protojson.UnmarshalOptions{Resolver: s.types}).Unmarshal(text, request); err != nil {
		return outcome.Failed(outcome.Client, "the message is not a %s: %s", s.method.Input().FullName(), plain(err))
	}
	return nil
}

func servicesIn(files *protoregistry.Files) (names []string) {
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			names = append(names, string(file.Services().Get(i).FullName()))
		}
		return true
	})
	slices.Sort(names)
	return names
}

func methodsIn(service protoreflect.ServiceDescriptor) (names []string) {
	for i := range service.Methods().Len() {
		names = append(names, string(service.Methods().Get(i).Name()))
	}
	return names
}

func filesOf(set []byte) (*protoregistry.Files, error) {
	var described descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &described); err != nil || len(described.File) == 0 {
		return nil, errors.New("not a set of protobuf descriptors, as protoc --descriptor_set_out --include_imports writes it")
	}
	return protodesc.NewFiles(&described)
}

// Versions of the reflection service, whose messages are the same.
var reflections = []string{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}

// requestFiles requests the files that describe a service from a server.
func requestFiles(ctx context.Context, channel grpc.ClientConnInterface, service string) (files *protoregistry.Files, err error) {
	for _, method := range reflections {
		if files, err = ask(ctx, channel, method, service); err == nil || !strings.Contains(err.Error(), codes.Unimplemented.String()) {
			return files, err
		}
	}
	return nil, err
}

func ask(ctx context.Context, channel grpc.ClientConnInterface, method, service string) (*protoregistry.Files, error) {
	stream, err := channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	known := map[string]*descriptorpb.FileDescriptorProto{}
	request := &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	}
	for request != nil {
		if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		answer := new(reflection.ServerReflectionResponse)
		if err := stream.RecvMsg(answer); err != nil {
			return nil, err
		}
		if refused := answer.GetErrorResponse(); refused != nil {
			return nil, errors.New(refused.ErrorMessage)
		}
		for _, text := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := new(descriptorpb.FileDescriptorProto)
			if err := proto.Unmarshal(text, file); err != nil {
				return nil, err
			}
			known[file.GetName()] = file
		}
		request = lacking(known)
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	if err := stream.RecvMsg(new(reflection.ServerReflectionResponse)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: slices.Collect(maps.Values(known))})
}

// lacking returns the request for a missing dependency; nil if all files are known.
func lacking(known map[string]*descriptorpb.FileDescriptorProto) *reflection.ServerReflectionRequest {
	for _, file := range known {
		for _, needed := range file.Dependency {
			if known[needed] == nil {
				return &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: needed}}
			}
		}
	}
	return nil
}

// call sends the step's RPC; the types of its messages come from the method's description alone.
func (s *Step) call(ctx context.Context, values Values, x *exchange.Exchange) (answered, error) {
	request := dynamicpb.NewMessage(s.method.Input())
	text := s.body.fill(values)
	if text == "" {
		text = "{}"
	}
	if err := s.encode([]byte(text), request); err != nil {
		return answered{}, err
	}
	for name, value := range s.headers {
		sent, err := sentAs(strings.ToLower(name), value.fill(values))
		if err != nil {
			return answered{}, err
		}
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), sent)
	}
	var end *status.Status
	var first, last metadata.MD
	got, err := s.messages(ctx, x.Channel(""), request, grpc.Header(&first), grpc.Trailer(&last),
		grpc.OnFinish(func(err error) { end = status.Convert(err) }))
	refused := (*exchange.Refusal)(nil)
	switch {
	case err != nil && !(errors.As(err, &refused) && end.Code() == s.code):
		return answered{}, err
	case err == nil && s.code != codes.OK:
		return answered{}, outcome.Wrong("code OK instead of %s", s.code)
	}
	answer := answered{step: s, status: s.code.String(), header: http.Header{}}
	for name, values := range metadata.Join(first, last) {
		if isBinary(name) {
			for i, value := range values {
				values[i] = base64.StdEncoding.EncodeToString([]byte(value))
			}
		}
		answer.header[http.CanonicalHeaderKey(name)] = values
	}
	if s.code != codes.OK {
		answer.body = map[string]any{"message": end.Message()}
		return answer, nil
	}
	bodies := make([]any, len(got))
	for i, message := range got {
		encoded, err := (protojson.MarshalOptions{Resolver: s.types, UseProtoNames: true, EmitDefaultValues: true}).Marshal(message)
		if err == nil {
			bodies[i], err = decode(encoded)
		}
		if err != nil {
			return answered{}, outcome.Wrong("the answer cannot be read: %w", err)
		}
	}
	if s.method.IsStreamingServer() {
		answer.body = map[string]any{"count": json.Number(strconv.Itoa(len(bodies))), "messages": bodies}
	} else {
		answer.body = bodies[0]
	}
	return answer, nil
}

// maxStreamed is the maximum total size of a stream's messages, in bytes; a single message has the same maximum.
const maxStreamed = 64 << 20

// messages sends a request and returns the answer: one message, or all messages of a stream once it has ended.
func (s *Step) messages(
	ctx context.Context, channel grpc.ClientConnInterface, request *dynamicpb.Message, options ...grpc.CallOption,
) (got []*dynamicpb.Message, err error) {
	if !s.method.IsStreamingServer() {
		message := dynamicpb.NewMessage(s.method.Output())
		return []*dynamicpb.Message{message}, channel.Invoke(ctx, "/"+s.RPC, request, message, options...)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := channel.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+s.RPC, options...)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	_ = stream.CloseSend() // the answer shows a failure
	for size := 0; ; {
		message := dynamicpb.NewMessage(s.method.Output())
		err := stream.RecvMsg(message)
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return nil, err
		}
		if size += proto.Size(message); size > maxStreamed {
			cancel()
			_ = stream.RecvMsg(message) // waits for the end of the cancelled stream
			return nil, outcome.Wrong("the stream has more than %d bytes", maxStreamed)
		}
		got = append(got, message)
	}
}

// isBinary tells whether metadata with this name may have arbitrary bytes, which files and variables contain as base64.
func isBinary(name string) bool { return strings.HasSuffix(name, "-bin") }

// sentAs returns a value of metadata in the form in which gRPC sends it.
func sentAs(name, value string) (string, error) {
	if isBinary(name) {
		sent, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
		if err != nil {
			return "", outcome.Failed(outcome.Client, "the metadata %s is binary, but its value is not base64", name)
		}
		return string(sent), nil
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", outcome.Failed(outcome.Client, "the metadata %s can have only printable ASCII", name)
	}
	return value, nil
}

// plain returns protobuf's error message, in which no-break spaces are sometimes deliberate, with ordinary spaces.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "\u00a0", " ") }
