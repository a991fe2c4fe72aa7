package steps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
	"hopwise/proto/stubs/productv1"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// A variable has the form that its place requires, and a string that consists only of a variable becomes its value.
func TestTemplates(t *testing.T) {
	values := Values{"id": raw(`7`), "name": raw(`"a/b \"c\" é"`), "list": raw(`[1,{"a":null}]`)}
	for _, c := range []struct {
		make func(string) (template, error)
		text string
		want string
	}{
		{textTemplate, "x-${id}-${name}", `x-7-a/b "c" é`},
		{textTemplate, "a $${id} $ {id}", "a ${id} $ {id}"},
		{uriTemplate, "/p/${name}?q=${name}&n=${id}", "/p/a%2Fb%20%22c%22%20%C3%A9?q=a%2Fb+%22c%22+%C3%A9&n=7"},
		{ofJSON, `{"b":"${id}","a":["${list}","n ${name}"],"c":1.50}`, `{"a":[[1,{"a":null}],"n a/b \"c\" é"],"b":7,"c":1.50}`},
		{formTemplate, "n=${name}&id=${id}", "n=a%2Fb+%22c%22+%C3%A9&id=7"},
		{formTemplate, "${name}", `a/b "c" é`},
		{ofJSON, `"<${name}>"`, `"<a/b \"c\" é>"`},
	} {
		made, err := c.make(c.text)
		if err != nil {
			t.Fatal(c.text, err)
		}
		if got := made.fill(values); got != c.want {
			t.Errorf("%s: %s instead of %s", c.text, got, c.want)
		}
	}
	for _, text := range []string{"${", "${}", "${a b}", "${a"} {
		if _, err := textTemplate(text); err == nil || !strings.Contains(err.Error(), "is not a variable") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNumbersAreComparedByValue(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{`{"a":[1,0.1]}`, `{"a":[1.0,1e-1]}`, true},
		{`100`, `1e2`, true},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`1`, `"1"`, false},
		{`1e99999999999999999999`, `1`, false},
		{`{"a":1}`, `{"b":1}`, false},
	} {
		one, _ := decode([]byte(c.one))
		other, _ := decode([]byte(c.other))
		if equal(one, other) != c.same {
			t.Errorf("%s and %s: %v", c.one, c.other, !c.same)
		}
	}
}

func ofJSON(text string) (template, error) { return jsonTemplate(raw(text)) }

// Pointers follow RFC 6901; the cases include its examples.
func TestPointers(t *testing.T) {
	const text = `{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"in":{"ner":[{"x":null}]}}`
	value, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/m~0n": "8", "/in/ner/0/x": "null",
	} {
		if got, there := at(value, pointer); !there || string(marshal(got)) != want {
			t.Errorf("%s: %s instead of %s", pointer, marshal(got), want)
		}
	}
	for _, pointer := range []string{"/bar", "/foo/2", "/foo/-", "/foo/00", "/foo/0/x", "/in/ner/x"} {
		if got, there := at(value, pointer); there {
			t.Errorf("%s: %v", pointer, got)
		}
	}
	for _, pointer := range []string{"/foo/0", "/in/ner/0/x", "/nowhere/x", "/a~1b"} {
		value = without(value, pointer)
	}
	if got := string(marshal(value)); got != `{"":0,"foo":[null,"baz"],"in":{"ner":[{}]},"m~n":8}` {
		t.Error(got)
	}
}

func plan(t *testing.T, steps ...Step) *Plan {
	t.Helper()
	journey := Journey{Name: "j"}
	for i := range steps {
		steps[i].Line, steps[i].Name = i+1, fmt.Sprint("s", i+1)
		journey.Steps = append(journey.Steps, &steps[i])
	}
	text, err := json.Marshal(Plan{Format: Format, File: "t.yaml", Workload: raw(`{}`), Journeys: []*Journey{&journey}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t *testing.T, p *Plan, speaks target.Protocol, address string) (string, error) {
	t.Helper()
	entry := target.Entry{Protocol: speaks, URL: "http://" + address}
	endpoints := map[string]target.Entry{"e": entry}
	if err := p.Toward(endpoints); err != nil {
		return "", err
	}
	client, err := exchange.NewClient(target.Target{HTTP: 1, Steps: "x", Endpoints: endpoints}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	open := func() *exchange.Exchange { return exchange.Untraced(client.At(entry.URL)) }
	if err := p.Prepare(t.Context(), []string{"j"}, open); err != nil {
		return "", err
	}
	answer, err := p.Run(t.Context(), "j", Values{}, open())
	if err != nil {
		return "", err
	}
	canonical, err := json.Marshal(answer)
	return string(canonical), err
}

func serve(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"b": 12345678901234567890, "a": {"id": "x/1"}, "at": %q}`, r.Header.Get("traceparent"))
	})
	mux.HandleFunc("/graphql", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/graphql-response+json")
		fmt.Fprintf(w, `{"data": {"a": 1}%s}`, r.PostFormValue("then"))
	})
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", r.Host)
	})
	mux.HandleFunc("/session", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Sum"] = []string{"a", "c"}
		http.SetCookie(w, &http.Cookie{Name: "other", Value: "0"})
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "k=1/2", Path: "/", HttpOnly: true})
		fmt.Fprint(w, `<input value token="t7">`)
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/latin", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Z\xfcrich") })
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `token="a+b/c==&d é"`) })
	mux.HandleFunc("/form", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", r.PostFormValue("token"))
	})
	mux.HandleFunc("/uri/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", r.RequestURI)
	})
	mux.HandleFunc("/twice", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"a": 1}]`)
	})
	mux.HandleFunc("/part", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json#part", 301) })
	mux.HandleFunc("/x/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "got ", r.PathValue("id")) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://elsewhere.example/", 302) })
	mux.HandleFunc("/whole", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/json?a=b%2Fc", 301)
	})
	mux.HandleFunc("/api/v2/deep", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", 301) })
	mux.HandleFunc("/near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", 301) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func take(source Source) map[string]*Source { return map[string]*Source{"n": &source} }
func get(path string) Step                  { return Step{At: "e", Method: http.MethodGet, Path: path} }

// A step can use the variables of the previous step, and the canonical answer is the same each time.
func TestStepsFollowEachOther(t *testing.T) {
	first, second := get("/json"), get("/x/${id}")
	first.Take, first.Ignore = map[string]*Source{"id": {Pointer: "/a/id"}}, []string{"/at"}
	first.Equal = map[string]json.RawMessage{"/b": raw(`12345678901234567890`)}
	address := serve(t)
	one, err := run(t, plan(t, first, second), target.REST, address)
	if err != nil {
		t.Fatal(err)
	}
	again, err := run(t, plan(t, first, second), target.REST, address)
	if one != again || err != nil {
		t.Errorf("%s and %s, %v", one, again, err)
	}
	if !strings.HasPrefix(one, `[{"answer":{"a":{"id":"x/1"},"b":12345678901234567890},"status":"200"},`) {
		t.Error(one)
	}
}

// Targets in different languages write the same numbers differently.
func TestEqualAnswersHaveTheSameCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		`{"b": 1.50, "a": [10.0, 100, 0.0, -2.050]}`: `{"a":[10,100,0,-2.05],"b":1.5}`,
		`["1.50", 1.5e3, 20, 20.1, null]`:            `["1.50",1.5e3,20,20.1,null]`,
	} {
		body, err := decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(Answer{{step: &Step{}, status: "200", body: body}})
		if want = `[{"answer":` + want + `,"status":"200"}]`; string(got) != want || err != nil {
			t.Errorf("%s instead of %s, %v", got, want, err)
		}
	}
}

// Variables can also be taken from texts outside an answer's JSON.
func TestHeadersCookiesAndTextsAreTaken(t *testing.T) {
	for _, c := range []struct {
		path   string
		source Source
		want   string
	}{
		{"/session", Source{Header: "x-sum"}, "a"},
		{"/session", Source{Header: "X-Sum", Match: "(c)"}, "c"},
		{"/session", Source{Cookie: "sid"}, "k=1/2"},
		{"/session", Source{Cookie: "sid", Match: `/(\d)$`}, "2"},
		{"/session", Source{Match: `token="(\w*)"`}, "t7"},
	} {
		first, second := get(c.path), get("/x/${n}")
		first.Take = take(c.source)
		got, err := run(t, plan(t, first, second), target.REST, serve(t))
		sum := sha256.Sum256([]byte("got " + c.want))
		if err != nil || !strings.Contains(got, hex.EncodeToString(sum[:])) {
			t.Errorf("%s: %s, %v", &c.source, got, err)
		}
	}
}

// A cookie has the value that a browser would send: the last one set, with its quotes, and none after a deletion.
func TestCookies(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
		set   bool
	}{
		{[]string{"sid=; Max-Age=0; Path=/", "sid=new; Path=/; HttpOnly"}, "new", true},
		{[]string{"sid=old", "sid=new"}, "new", true},
		{[]string{`sid="a\054 b"; Secure`}, `"a\054 b"`, true},
		{[]string{`sid={"a":"é"}`}, `{"a":"é"}`, true},
		{[]string{" sid = a=b== ;Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, "a=b==", true},
		{[]string{"sid="}, "", true},
		{[]string{"sid=old", "sid=deleted; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0"}, "", false},
		{[]string{"sid=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, "", false},
		{[]string{"SID=1", "sid", "xsid=1"}, "", false},
	} {
		got, set := (&Source{Cookie: "sid"}).of(answered{header: http.Header{"Set-Cookie": c.lines}})
		if set != c.set || set && got != c.want {
			t.Errorf("%q: %v, %v", c.lines, got, set)
		}
	}
}

// The next step can request an answer's Location, unless it is on another machine.
func TestLocations(t *testing.T) {
	address := serve(t)
	follow := func(path string, status int) error {
		first, second := get(path), get("${n}")
		first.Status, first.Take = []int{status}, take(Source{Header: "Location"})
		second.Equal = map[string]json.RawMessage{"/a/id": raw(`"x/1"`)}
		_, err := run(t, plan(t, first, second), target.REST, address)
		return err
	}
	for _, path := range []string{"/near", "/whole", "/part"} {
		if err := follow(path, 301); err != nil {
			t.Error(path, err)
		}
	}
	if err := follow("/away", 302); err == nil || !strings.Contains(err.Error(), `"http://elsewhere.example/" leads away from the target`) {
		t.Error(err)
	}
}

// What a path may not contain is escaped, and what is escaped already stays as it is.
func TestPathsAreEscapedOnce(t *testing.T) {
	for path, want := range map[string]string{
		"/uri/a%2Fb/é|{x}?q=é&r=a%2Fb+c": "/uri/a%2Fb/%C3%A9%7C%7Bx%7D?q=%C3%A9&r=a%2Fb+c",
		"/uri/$&'()*+,;=:@[]-._~%20!":    "/uri/$&'()*+,;=:@[]-._~%20!",
	} {
		step := get(path)
		step.Equal = map[string]json.RawMessage{"": marshal(want)}
		if _, err := run(t, plan(t, step), target.REST, serve(t)); err != nil {
			t.Error(err)
		}
	}
}

// A path is appended to the base path of its endpoint. A Location includes it already.
func TestBasePaths(t *testing.T) {
	first, second := get("/deep"), get("${n}")
	first.Status, first.Take = []int{301}, take(Source{Header: "Location"})
	second.Equal = map[string]json.RawMessage{"/a/id": raw(`"x/1"`)}
	if _, err := run(t, plan(t, first, second), target.REST, serve(t)+"/api/v2"); err != nil {
		t.Error(err)
	}
}

// An answer without a body may declare a content encoding.
func TestEmptyBodyIsNotDecompressed(t *testing.T) {
	head := get("/packed")
	head.Method = http.MethodHead
	if _, err := run(t, plan(t, get("/packed"), head), target.REST, serve(t)); err != nil {
		t.Error(err)
	}
}

// A form gets a value taken from a page, with any characters.
func TestForms(t *testing.T) {
	first, second := get("/token"), Step{At: "e", Method: http.MethodPost, Path: "/form", Text: "user=1&token=${n}"}
	first.Take = take(Source{Match: `token="([^"]+)"`})
	second.Headers = map[string]string{"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
	second.Equal = map[string]json.RawMessage{"": raw(`"${n}"`)}
	if _, err := run(t, plan(t, first, second), target.REST, serve(t)); err != nil {
		t.Error(err)
	}
}

// A header named Host is the request's host.
func TestHost(t *testing.T) {
	step := get("/host")
	step.Headers = map[string]string{"host": "shop.example"}
	if got, err := run(t, plan(t, step), target.REST, serve(t)); !strings.Contains(got, `"shop.example"`) {
		t.Error(got, err)
	}
}

// An unexpected answer ends the journey, and the error names step, line and mistake. No redirect is followed.
func TestExpectations(t *testing.T) {
	address := serve(t)
	change := func(path string, change func(*Step)) Step {
		step := get(path)
		change(&step)
		return step
	}
	for _, c := range []struct {
		step  Step
		class outcome.Class
		want  string
	}{
		{get("/none"), outcome.Client, "step s1 (t.yaml:1) at e: status 404 instead of 200 to 299"},
		{change("/json", func(s *Step) { s.Headers = map[string]string{"x-n": "a\nb"} }), outcome.Client, `the header x-n cannot have the value "a\nb"`},
		{get("/away"), outcome.WrongAnswer, `status 302 leads away from the target, to "http://elsewhere.example/"; redirects are not followed`},
		{get("/near"), outcome.WrongAnswer, "status 301 leads to /json; redirects are not followed: give that path"},
		{change("/json", func(s *Step) { s.Status = []int{201, 204} }), outcome.WrongAnswer, "status 200 instead of [201 204]"},
		{change("/json", func(s *Step) { s.Equal = map[string]json.RawMessage{"/a/id": raw(`"y"`)} }), outcome.WrongAnswer, `/a/id is "x/1" instead of "y"`},
		{change("/json", func(s *Step) { s.Equal = map[string]json.RawMessage{"/c": raw(`1`)} }), outcome.WrongAnswer, "/c is not in the answer"},
		{get("/twice"), outcome.WrongAnswer, "the answer is declared as JSON but is not: more than one JSON value"},
		{change("/x/1", func(s *Step) { s.Absent = []string{"/errors"} }), outcome.WrongAnswer, `the answer is text/plain, not JSON: "got 1"`},
		{change("/json", func(s *Step) { s.There = []string{"/a/x"} }), outcome.WrongAnswer, "/a/x is not in the answer"},
		{change("/json", func(s *Step) { s.Absent = []string{"/a"} }), outcome.WrongAnswer, `/a is in the answer: {"id":"x/1"}`},
		{change("/json", func(s *Step) { s.Take = take(Source{Pointer: "/n"}) }), outcome.WrongAnswer, "the variable n is to be taken from /n, which is not in the answer"},
		{change("/json", func(s *Step) { s.Take = take(Source{Cookie: "n"}) }), outcome.WrongAnswer, "from the cookie n, which is not in the answer: its cookies are none"},
		{change("/x/1", func(s *Step) { s.Take = take(Source{Match: "gone (.)"}) }), outcome.WrongAnswer, `from the body by "gone (.)", which is not in the answer: "got 1"`},
		{change("/x/1", func(s *Step) { s.Take = take(Source{Match: "got|gone (.)"}) }), outcome.WrongAnswer, `from the body by "got|gone (.)", which is not`},
		{change("/latin", func(s *Step) { s.Take = take(Source{Match: "(.*)"}) }), outcome.WrongAnswer, `which is not UTF-8: "Z\xfcrich"`},
		{change("/x/1", func(s *Step) { s.Take = take(Source{Header: "x-n"}) }), outcome.WrongAnswer, "from the header x-n, which is not in the answer: its headers are Content-Length, Content-Type, Date"},
		{change("/session", func(s *Step) { s.Take = take(Source{Cookie: "gone"}) }), outcome.WrongAnswer, "its cookies are other, sid"},
		{change("/session", func(s *Step) { s.Take = take(Source{Header: "x-sum", Match: "(x)"}) }), outcome.WrongAnswer, `which is not in the answer: "a, c"`},
		{change("/near", func(s *Step) { s.Status, s.Take = []int{301}, take(Source{Header: "Location", Match: "x(.)"}) }), outcome.WrongAnswer, `from the header Location by "x(.)"`},
	} {
		_, err := run(t, plan(t, c.step), target.REST, address)
		if err == nil || !strings.Contains(err.Error(), c.want) || outcome.Of(err) != c.class {
			t.Errorf("%s: %s: %v, instead of %s: %s", c.step.Path, outcome.Of(err), err, c.class, c.want)
		}
	}
	if _, err := run(t, plan(t, change("/away", func(s *Step) { s.Status = []int{302} })), target.REST, address); err != nil {
		t.Error("an expected redirect is an answer:", err)
	}
}

// Some GraphQL servers send `errors` with every answer, as null or an empty list. Any other value is an error.
func TestErrorsOfGraphQL(t *testing.T) {
	address := serve(t)
	for then, want := range map[string]string{
		``:                               "",
		`, "errors": null`:               "",
		`, "errors": []`:                 "",
		`, "errors": [{"message": "x"}]`: `/errors is in the answer: [{"message":"x"}]`,
		`, "errors": [null]`:             "/errors is in the answer: [null]",
		`, "errors": {}`:                 "/errors is in the answer: {}",
		`, "errors": ""`:                 `/errors is in the answer: ""`,
		`, "errors": false`:              "/errors is in the answer: false",
		`, "errors": 0`:                  "/errors is in the answer: 0",
	} {
		step := Step{At: "e", Method: http.MethodPost, Path: "/graphql", NoErrors: true, Text: url.Values{"then": {then}}.Encode(),
			Headers: map[string]string{"content-type": "application/x-www-form-urlencoded"}}
		_, err := run(t, plan(t, step), target.REST, address)
		if (err == nil) != (want == "") || (err != nil && !(strings.Contains(err.Error(), want) && outcome.Of(err) == outcome.WrongAnswer)) {
			t.Errorf("%s: %v instead of %q", then, err, want)
		}
	}
	if _, err := run(t, plan(t, Step{At: "e", Method: http.MethodGet, Path: "/x/1", NoErrors: true}), target.REST, address); err == nil {
		t.Error("an answer that is not JSON has no errors to look for")
	}
}

type products struct {
	productv1.UnimplementedProductServiceServer
}

func (products) GetProduct(ctx context.Context, _ *productv1.GetProductRequest) (*productv1.Product, error) {
	got, _ := metadata.FromIncomingContext(ctx)
	_ = grpc.SetHeader(ctx, metadata.Pairs("next-id", "12", "raw-bin", "\x00\xff", "back-bin", strings.Join(got["raw-bin"], "")))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("last-id", "13"))
	return nil, status.Error(codes.Unimplemented, "none")
}

// StreamDocument sends as many chunks as the document has bytes, and fails after three.
func (products) StreamDocument(r *productv1.StreamDocumentRequest, stream grpc.ServerStreamingServer[productv1.StreamDocumentResponse]) error {
	for i := range r.GetId() {
		if i == 3 {
			return status.Error(codes.DataLoss, "torn")
		}
		if err := stream.Send(&productv1.StreamDocumentResponse{}); err != nil {
			return err
		}
	}
	stream.SetTrailer(metadata.Pairs("last-id", "13"))
	return nil
}

// rpcServer does not answer unary calls, so only its description is tested.
func rpcServer(t *testing.T, describes bool) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	productv1.RegisterProductServiceServer(server, products{})
	if describes {
		reflection.Register(server)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// set returns the files that describe the product service.
func set(t *testing.T) []byte {
	var files descriptorpb.FileDescriptorSet
	var add func(file protoreflect.FileDescriptor)
	known := map[string]bool{}
	add = func(file protoreflect.FileDescriptor) {
		if known[file.Path()] {
			return
		}
		known[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i))
		}
		files.File = append(files.File, protodesc.ToFileDescriptorProto(file))
	}
	add((&productv1.Product{}).ProtoReflect().Descriptor().ParentFile())
	text, err := proto.Marshal(&files)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A method is found by reflection or in descriptors, else the error lists valid ones. Status codes can be expected.
func TestMethodsOfGRPC(t *testing.T) {
	service := string(productv1.ProductService_ServiceDesc.ServiceName)
	call := func(method string) Step {
		return Step{At: "e", RPC: method, JSON: raw(`{"id":"1"}`), Code: "UNIMPLEMENTED"}
	}
	described, silent := rpcServer(t, true), rpcServer(t, false)
	if got, err := run(t, plan(t, call(service+"/GetProduct")), target.GRPC, described); err != nil || !strings.Contains(got, `"status":"Unimplemented"`) {
		t.Error(got, err)
	}
	first, second := call(service+"/GetProduct"), call(service+"/BatchGetProducts")
	first.Take = map[string]*Source{"next": {Header: "Next-Id"}, "last": {Header: "last-id"}}
	second.JSON = raw(`{"ids":["${next}","${last}"]}`)
	if got, err := run(t, plan(t, first, second), target.GRPC, described); err != nil {
		t.Error(got, err)
	}
	first.Take, second = map[string]*Source{"raw": {Header: "raw-bin"}}, call(service+"/GetProduct")
	second.Headers, second.Take = map[string]string{"Raw-Bin": "${raw}"}, take(Source{Header: "back-bin", Match: "^(AP8=)$"})
	if got, err := run(t, plan(t, first, second), target.GRPC, described); err != nil {
		t.Error("bytes in metadata:", got, err)
	}
	for name, value := range map[string]string{"x-name": "Zürich", "x-bin": "a b"} {
		first.Headers = map[string]string{name: value}
		if _, err := run(t, plan(t, first), target.GRPC, described); err == nil || outcome.Of(err) != outcome.Client || !strings.Contains(err.Error(), "the metadata "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	withSet := func(step Step, set []byte) *Plan {
		step.Set = "set.pb"
		p := plan(t, step)
		p.Descriptors = map[string][]byte{"set.pb": set}
		return p
	}
	if _, err := run(t, withSet(call(service+"/GetProduct"), set(t)), target.GRPC, silent); err != nil {
		t.Error(err)
	}
	other := call(service + "/GetProduct")
	other.JSON = raw(`{"identity":1}`)
	plain := call(service + "/GetProduct")
	plain.Code = ""
	for _, c := range []struct {
		plan    *Plan
		address string
		want    string
	}{
		{plan(t, call(service+"/Buy")), described, "has no method Buy in " + service + "; methods: "},
		{plan(t, call("no.Such/Get")), described, "does not describe no.Such: "},
		{plan(t, call(service+"/GetProduct")), silent, "give descriptors: a file made by protoc --descriptor_set_out --include_imports"},
		{withSet(call(service+"/Buy"), set(t)), silent, "t.yaml:1: journey j, step s1: set.pb has no method Buy"},
		{withSet(call("no.Such/Get"), set(t)), silent, "set.pb has no service no.Such; services: " + service},
		{withSet(call(service+"/GetProduct"), []byte("none")), silent, "set.pb: not a set of protobuf descriptors"},
		{plan(t, other), described, `the message is no`},
		{plan(t, plain), described, "Unimplemented"},
	} {
		if _, err := run(t, c.plan, target.GRPC, c.address); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v instead of %q", err, c.want)
		}
	}
}

// A stream's messages are one answer, complete once the stream has ended. A stream that breaks off is a failure.
func TestStreamsOfGRPC(t *testing.T) {
	address := rpcServer(t, true)
	for _, c := range []struct {
		messages string
		code     string
		class    outcome.Class
	}{
		{"3", "", outcome.OK},
		{"0", "", outcome.OK},
		{"4", "", outcome.Server},
		{"4", "DATA_LOSS", outcome.OK},
	} {
		step := Step{At: "e", RPC: string(productv1.ProductService_ServiceDesc.ServiceName) + "/StreamDocument", Code: c.code}
		step.JSON = raw(`{"id":"` + c.messages + `"}`)
		if c.code == "" {
			step.Equal, step.There = map[string]json.RawMessage{"/count": raw(c.messages)}, []string{"/messages"}
			step.Take = take(Source{Header: "last-id"})
		}
		if got, err := run(t, plan(t, step), target.GRPC, address); outcome.Of(err) != c.class {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// A code that the target did not send is a failure, even if the step expects this code.
func TestExpectedCodesComeFromTheTarget(t *testing.T) {
	aborting := shoptest.Serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	const nobody = "127.0.0.1:1"
	for code, address := range map[string]string{"UNAVAILABLE": nobody, "INTERNAL": strings.TrimPrefix(aborting.URL, "http://")} {
		step := Step{At: "e", RPC: string(productv1.ProductService_ServiceDesc.ServiceName) + "/GetProduct", Code: code, Set: "set.pb"}
		p := plan(t, step)
		p.Descriptors = map[string][]byte{"set.pb": set(t)}
		if got, err := run(t, p, target.GRPC, address); err == nil || !strings.Contains(strings.ToUpper(err.Error()), code) {
			t.Errorf("%s: %s, %v", code, got, err)
		}
	}
}

// A pause is within its bounds, is the same for the same journey, and differs between journeys and steps.
func TestPauses(t *testing.T) {
	think := func() Step {
		step := get("/x/1")
		step.Think = []float64{100, 900}
		return step
	}
	p := plan(t, get("/x/1"), think(), think())
	seen := map[time.Duration]bool{}
	for i := range 50 {
		values := Values{Key: raw(fmt.Sprintf("%q", fmt.Sprint(i)))}
		sum := p.Pauses("j", values)
		for _, step := range p.Journeys[0].Steps[1:] {
			pause := step.pause(values)
			if seen[pause] || pause != step.pause(values) || pause < 100*time.Millisecond || pause > 900*time.Millisecond {
				t.Errorf("journey %d: %v", i, pause)
			}
			seen[pause] = true
			sum -= pause
		}
		if sum != 0 {
			t.Errorf("journey %d: the pauses do not add up by %v", i, sum)
		}
	}
	if longest := p.MaxPauses(); longest != 1800*time.Millisecond {
		t.Errorf("the longest pauses are %v", longest)
	}
}

// Journeys of the same tape send new keys each time, so that no target answers from memory. All steps of a journey send the same key.
func TestKeysAreNew(t *testing.T) {
	var seen sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := seen.LoadOrStore(r.Header.Get("Idempotency-Key"), true); known != (r.Method == http.MethodGet) {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	for range 2 {
		first, second := get("/"), get("/")
		first.Method, first.Headers, second.Headers = http.MethodPost, map[string]string{"Idempotency-Key": "${key}"}, map[string]string{"Idempotency-Key": "${key}"}
		if _, err := run(t, plan(t, first, second), target.REST, strings.TrimPrefix(server.URL, "http://")); err != nil {
			t.Error(err)
		}
	}
}

// Mistakes in a plan are reported before anything is sent.
func TestRefusals(t *testing.T) {
	parse := func(change func(*Plan)) error {
		p := Plan{Format: Format, File: "t.yaml", Workload: raw(`{}`), Journeys: []*Journey{{Name: "j", Steps: []*Step{{Name: "s", Line: 3, Method: "GET", Path: "/${id}"}}}}}
		change(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(text)
		return err
	}
	table := func(take Take, rows ...[]json.RawMessage) map[string]*Table {
		return map[string]*Table{"r": {File: "r.csv", Take: take, Columns: []string{"id"}, Rows: rows}}
	}
	row := []json.RawMessage{raw(`1`)}
	for _, c := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(*Plan) {}, "t.yaml:3: journey j: step s: nothing gives the variable ${id}; there are: key, seq"},
		{func(p *Plan) { p.Format = "x" }, `format is "x"`},
		{func(p *Plan) { p.Tables = table("all", row) }, `unknown take "all"; ways to take rows: once, again, random`},
		{func(p *Plan) { p.Tables, p.Journeys[0].Table = table(Once), "r" }, `the table "r" has no rows`},
		{func(p *Plan) { p.Journeys[0].Steps[0].Code = "NOPE" }, `unknown code "NOPE"`},
		{func(p *Plan) { *p.Journeys[0].Steps[0] = Step{Take: take(Source{Match: "("})} }, "take n: error parsing regexp"},
		{func(p *Plan) { *p.Journeys[0].Steps[0] = Step{Take: take(Source{Match: "a|b"})} }, `take n: match "a|b" has 0 groups; give one`},
	} {
		if err := parse(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v instead of %q", err, c.want)
		}
	}
	if err := parse(func(p *Plan) { p.Tables, p.Journeys[0].Table = table(Once, row), "r" }); err != nil {
		t.Error(err)
	}
	if p := plan(t, get("/")); p.Toward(nil) == nil || !slices.Equal(p.Names(), []string{"j"}) {
		t.Error("a plan without its endpoint")
	}
}
