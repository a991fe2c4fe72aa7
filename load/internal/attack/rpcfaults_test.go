package attack

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
)

// rpcAnswer is a hand-made answer of an RPC, so that any part of it can be left out.
type rpcAnswer struct {
	contentType string
	messages    [][]byte
	cut         int    // bytes missing at the end of the last message
	status      string // grpc-status in the trailer; empty: no trailer at all
	message     string
	then        func() // before the end
}

func (a rpcAnswer) serve(w http.ResponseWriter, _ shoptest.Seen) {
	if a.contentType == "" {
		a.contentType = "application/grpc"
	}
	w.Header().Set("Content-Type", a.contentType)
	for i, message := range a.messages {
		frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
		if i == len(a.messages)-1 {
			frame = frame[:len(frame)-a.cut]
		}
		_, _ = w.Write(frame)
	}
	_ = http.NewResponseController(w).Flush()
	if a.then != nil {
		a.then()
	}
	if a.status != "" {
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", a.status)
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", a.message)
	}
}

func pack(t testing.TB, message proto.Message) []byte {
	t.Helper()
	text, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every fault of a gRPC service gets the right class and never counts as success, even if only the status is missing.
func TestFaultyRPC(t *testing.T) {
	whole := shoptest.Product(find(t, journey.Product).Params.ProductID)
	right := pack(t, whole)
	line := pack(t, &orderv1.StreamOrderLinesResponse{Lines: []*orderv1.JoinedOrderLine{{Id: 1}}})
	abort := func() { panic(http.ErrAbortHandler) }
	linger := func() { time.Sleep(400 * time.Millisecond) }
	failing := func(code, message string) fault { return rpcAnswer{status: code, message: message}.serve }
	cases := []struct {
		name    string
		journey journey.Name
		fault   fault
		class   outcome.Class
		says    string
	}{
		{"the right message, but no trailer", journey.Product, rpcAnswer{messages: [][]byte{right}}.serve, outcome.WrongAnswer, "without a status"},
		{"a message cut off, no trailer", journey.Product, rpcAnswer{messages: [][]byte{right}, cut: 3}.serve, outcome.WrongAnswer, "breaks off"},
		{"a message cut off, and success", journey.Product, rpcAnswer{messages: [][]byte{right}, cut: 3, status: "0"}.serve, outcome.Server, "Internal"},
		{"the right message, then a connection dropped", journey.Product, rpcAnswer{messages: [][]byte{right}, then: abort}.serve, outcome.WrongAnswer, "breaks off"},
		{"a connection dropped at once", journey.Product, dropped, outcome.Server, "GetProduct"},
		{"success without a message", journey.Product, failing("0", ""), outcome.WrongAnswer, "not the message asked for"},
		{"bytes that are no message", journey.Product, rpcAnswer{messages: [][]byte{[]byte("\xff\xff\xff")}, status: "0"}.serve, outcome.WrongAnswer, "not the message asked for"},
		{"an empty message", journey.Product, rpcAnswer{messages: [][]byte{{}}, status: "0"}.serve, outcome.WrongAnswer, "the answer has no category"},
		{"the right message, and a failure", journey.Product, rpcAnswer{messages: [][]byte{right}, status: "13", message: "oops"}.serve, outcome.Server, "Internal: oops"},
		{"a trailer with a status of no meaning", journey.Product, rpcAnswer{messages: [][]byte{right}, status: "soon"}.serve, outcome.WrongAnswer, "without a status"},
		{"a page of HTML with status 200", journey.Product, page("<html>"), outcome.WrongAnswer, "not gRPC"},
		{"JSON with status 200", journey.Product, text(200, "{}"), outcome.WrongAnswer, "not gRPC"},
		{"status 503 that is not gRPC", journey.Product, text(503, "away"), outcome.Server, "503"},
		{"status 500 that is not gRPC", journey.Product, text(500, "oops"), outcome.Server, "500"},
		{"status 404 that is not gRPC", journey.Product, text(404, "no route"), outcome.Client, "404"},
		{"too late", journey.Product, slow, outcome.Timeout, "no complete answer within the journey's limit of 200ms"},
		{"a body that never ends", journey.Product, rpcAnswer{messages: [][]byte{right}, then: linger}.serve, outcome.Timeout, "no complete answer within the journey's limit of 200ms"},
		{"a passed deadline", journey.Product, failing("4", "late"), outcome.Timeout, "DeadlineExceeded: late"},
		{"an unavailable service", journey.Product, failing("14", "away"), outcome.Server, "Unavailable: away"},
		{"an unknown failure", journey.Product, failing("2", "x"), outcome.Server, "Unknown: x"},
		{"lost data", journey.Product, failing("15", "x"), outcome.Server, "DataLoss"},
		{"not found", journey.Product, failing("5", "no product"), outcome.Client, "NotFound: no product"},
		{"a refusal", journey.Product, failing("7", "no"), outcome.Client, "PermissionDenied: no"},
		{"no such method", journey.Product, failing("12", ""), outcome.Client, "Unimplemented"},

		{"half a stream and no trailer", journey.BulkLines, rpcAnswer{messages: [][]byte{line}}.serve, outcome.WrongAnswer, "without a status"},
		{"half a stream, then a connection dropped", journey.BulkLines, rpcAnswer{messages: [][]byte{line, line}, then: abort}.serve, outcome.WrongAnswer, "breaks off"},
		{"half a stream, and success", journey.BulkLines, rpcAnswer{messages: [][]byte{line}, status: "0"}.serve, outcome.WrongAnswer, "the answer has no lines[0].order_id"},
		{"half a stream, then a failure", journey.BulkLines, rpcAnswer{messages: [][]byte{line}, status: "14", message: "away"}.serve, outcome.Server, "Unavailable: away"},
		{"no stream, and success", journey.BulkLines, failing("0", ""), outcome.WrongAnswer, "0 lines instead of 1000"},
		{"a stream that never ends", journey.BulkLines, rpcAnswer{messages: [][]byte{line}, then: linger}.serve, outcome.Timeout, "no complete answer within the journey's limit of 200ms"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shop := shoptest.Start(t)
			shop.Fault = func(w http.ResponseWriter, r shoptest.Seen) bool { c.fault(w, r); return true }
			e := find(t, c.journey)
			runner := newRunner(t, shop.Target(t, target.GRPC, 2), []journey.Entry{e})
			runner.Timeout = 200 * time.Millisecond
			row, canonical := runner.Run(context.Background(), e, time.Now(), false)
			if row.Outcome != c.class || !strings.Contains(row.Error, c.says) {
				t.Errorf("%s: %q; expected %s: %q", row.Outcome, row.Error, c.class, c.says)
			}
			if canonical != nil || row.AnswerSHA256 != "" || row.Requests != 1 {
				t.Errorf("a failure has an answer: %+v", row)
			}
		})
	}
}

func TestWrongMessages(t *testing.T) {
	cases := []struct {
		name    string
		journey journey.Name
		bend    func(proto.Message)
		says    string
	}{
		{"another product", journey.Product, func(m proto.Message) { m.(*productv1.Product).Id = 1 }, "the answer is product 1 instead of"},
		{"a price missing", journey.Product, func(m proto.Message) { m.(*productv1.Product).Price = nil }, "no price.amount_minor"},
		{"reviews of a product missing", journey.Browse, func(m proto.Message) {
			m.(*productv1.ListProductsWithReviewsResponse).Products[0].Reviews = nil
		}, "has 0 reviews instead of 3"},
		{"a product of the batch missing", journey.OrderHistory, func(m proto.Message) {
			if batch, ok := m.(*productv1.BatchGetProductsResponse); ok {
				batch.Products = batch.Products[1:]
			}
		}, ".title"},
		{"an unspecified status", journey.OrderStatus, func(m proto.Message) {
			if order, ok := m.(*orderv1.Order); ok {
				order.Status = 0
			}
		}, `unknown order status "UNSPECIFIED"`},
		{"another amount paid", journey.OrderStatus, func(m proto.Message) {
			if order, ok := m.(*orderv1.Order); ok {
				order.Total = &typev1.Money{AmountMinor: 1, Currency: "EUR"}
			}
		}, "costs 1"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.journey, " ", c.name), func(t *testing.T) {
			t.Parallel()
			shop := shoptest.Start(t)
			shop.BendRPC = c.bend
			e := find(t, c.journey)
			runner := prepare(t, shop.Target(t, target.GRPC, 2), []journey.Entry{e})
			row, _ := runner.Run(context.Background(), e, time.Now(), false)
			if row.Outcome != outcome.WrongAnswer || !strings.Contains(row.Error, c.says) {
				t.Errorf("%s: %q; expected wrong_answer: %q", row.Outcome, row.Error, c.says)
			}
		})
	}
}

// A restarted service loses its connections; after a moment, RPCs succeed again.
func TestRPCConnectsAgain(t *testing.T) {
	shop := shoptest.Start(t)
	e := find(t, journey.Product)
	runner := prepare(t, shop.Target(t, target.GRPC, 2), []journey.Entry{e})
	shop.CloseConnections()
	deadline := time.Now().Add(patience)
	for {
		row, _ := runner.Run(context.Background(), e, time.Now(), false)
		if row.Outcome == outcome.OK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s", row.Outcome, row.Error)
		}
	}
}

// RPCs carry the same metadata as HTTP requests: the sender's token, and a trace context whose flag says not sampled.
func TestRPCMetadata(t *testing.T) {
	shop := shoptest.Start(t)
	entries := one(t)
	runner := prepare(t, shop.Target(t, target.GRPC, 2), entries)
	for _, e := range entries {
		before := len(shop.Seen())
		row, _ := runner.Run(context.Background(), e, time.Now(), false)
		for _, seen := range shop.Seen()[before:] {
			token, parent := seen.Header.Get("Authorization"), seen.Header.Get("Traceparent")
			if !strings.HasPrefix(parent, "00-"+row.TraceID+"-") || !strings.HasSuffix(parent, "-00") {
				t.Errorf("%s: traceparent %q of trace %s", e.Journey, parent, row.TraceID)
			}
			needed := runner.Sessions.Token(e) != "" || strings.HasSuffix(seen.Path, "/GetUser")
			if strings.HasPrefix(token, "Bearer ") != needed {
				t.Errorf("%s %s: authorization %q", e.Journey, seen.Path, token)
			}
			if seen.Header.Get("Grpc-Timeout") == "" || !strings.HasPrefix(seen.Header.Get("User-Agent"), "shopload") {
				t.Errorf("%s: headers %v", e.Journey, seen.Header)
			}
		}
	}
}
