package shoptest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"hopwise/load/internal/stubs/orderv1"
	"hopwise/load/internal/stubs/paymentv1"
)

// asTranscoded writes messages as Envoy's transcoder does.
var asTranscoded = protojson.MarshalOptions{UseProtoNames: true}

// transcoded answers the partner's requests with the messages of the gRPC services as JSON.
func (s *Shop) transcoded(r *http.Request, seen Seen) (int, any) {
	query := r.URL.Query()
	order := rpcOrder{shop: s}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/orders":
		var request orderv1.CheckoutRequest
		if err := protojson.Unmarshal(seen.Body, &request); err != nil {
			return http.StatusBadRequest, object{"code": 3, "message": err.Error()}
		}
		made, err := order.Checkout(r.Context(), &request)
		if err != nil {
			return http.StatusBadRequest, object{"code": 3, "message": err.Error()}
		}
		return http.StatusOK, generic(made)
	case strings.HasPrefix(r.URL.Path, "/v1/orders/"):
		id, _ := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/v1/orders/"), 10, 64)
		return http.StatusOK, generic(protoOrder(id, 1, linesOf(id)))
	case r.URL.Path == "/v1/payments:batchGetByOrder":
		payments := mapped(numbersOf(query.Get("order_ids")), protoPayment)
		return http.StatusOK, generic(&paymentv1.BatchGetPaymentsByOrderResponse{Payments: payments})
	case r.URL.Path == "/v1/order-lines":
		after, _ := strconv.ParseInt(query.Get("after_line_id"), 10, 64)
		lines := mapped(page(after), protoBulkLine)
		chunks := []object{}
		for len(lines) > 0 {
			count := min(chunk, len(lines))
			chunks = append(chunks, generic(&orderv1.StreamOrderLinesResponse{Lines: lines[:count]}))
			lines = lines[count:]
		}
		return http.StatusOK, chunks
	}
	return http.StatusNotFound, object{"code": 5, "message": "no such route"}
}

// generic returns a message as JSON's own types, so that a test can bend it.
func generic(message proto.Message) (made object) {
	text, err := asTranscoded.Marshal(message)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		panic(err) // messages of the fake's own making
	}
	return made
}
