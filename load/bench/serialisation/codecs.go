package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/protobuf/proto"

	"hopwise/load/internal/stubs/shopthrift"
	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/userv1"
)

type codec struct {
	decode func(parts [][]byte) ([]any, error)
	encode func(values []any) ([][]byte, error)
	equal  func(one, other []any) bool
}

func codecOf(journey, encoding string) (codec, error) {
	fresh, ok := map[string]map[string][]func() any{
		"json": canonical, "graphql": responses, "protobuf": messages, "thrift-compact": structs, "thrift-json": structs,
	}[encoding][journey]
	if !ok {
		return codec{}, fmt.Errorf("there is no such answer")
	}
	switch encoding {
	case "protobuf":
		return codecFrom(fresh,
			func(part []byte, value any) error { return proto.Unmarshal(part, value.(proto.Message)) },
			func(value any) ([]byte, error) { return proto.Marshal(value.(proto.Message)) },
			func(one, other any) bool { return proto.Equal(one.(proto.Message), other.(proto.Message)) }), nil
	case "thrift-compact":
		return thriftCodec(fresh, thrift.NewTCompactProtocolFactoryConf(nil)), nil
	case "thrift-json":
		return thriftCodec(fresh, thrift.NewTJSONProtocolFactory()), nil
	default:
		return codecFrom(fresh, json.Unmarshal, json.Marshal, reflect.DeepEqual), nil
	}
}

// thriftCodec has one serializer and one deserializer for all answers, as a connection has one protocol.
func thriftCodec(fresh []func() any, factory thrift.TProtocolFactory) codec {
	out, in := thrift.NewTSerializer(), thrift.NewTDeserializer()
	out.Protocol, in.Protocol = factory.GetProtocol(out.Transport), factory.GetProtocol(in.Transport)
	ctx := context.Background()
	return codecFrom(fresh,
		func(part []byte, value any) error { return in.Read(ctx, value.(thrift.TStruct), part) },
		func(value any) ([]byte, error) { return out.Write(ctx, value.(thrift.TStruct)) },
		reflect.DeepEqual)
}

func codecFrom(
	fresh []func() any,
	unmarshal func([]byte, any) error,
	marshal func(any) ([]byte, error),
	equal func(one, other any) bool,
) codec {
	return codec{
		decode: func(parts [][]byte) ([]any, error) {
			if len(parts) != len(fresh) {
				return nil, fmt.Errorf("%d bodies instead of %d", len(parts), len(fresh))
			}
			values := make([]any, len(parts))
			for i, part := range parts {
				values[i] = fresh[i]()
				if err := unmarshal(part, values[i]); err != nil {
					return nil, err
				}
			}
			return values, nil
		},
		encode: func(values []any) ([][]byte, error) {
			parts := make([][]byte, len(values))
			for i, value := range values {
				var err error
				if parts[i], err = marshal(value); err != nil {
					return nil, err
				}
			}
			return parts, nil
		},
		equal: func(one, other []any) bool {
			for i := range one {
				if !equal(one[i], other[i]) {
					return false
				}
			}
			return len(one) == len(other)
		},
	}
}

func a[T any]() any { return new(T) }

// The types of the bodies of each journey's answer.
var (
	messages = map[string][]func() any{
		"browse":  {a[productv1.ListProductsWithReviewsResponse]},
		"product": {a[productv1.Product]},
		"login":   {a[userv1.User]},
		"order_history": {
			a[orderv1.ListOrdersByUserResponse], a[productv1.BatchGetProductsResponse], a[paymentv1.BatchGetPaymentsByOrderResponse],
		},
		"checkout":       {a[orderv1.Order]},
		"update_profile": {a[userv1.User]},
		"order_status":   {a[orderv1.Order], a[paymentv1.BatchGetPaymentsByOrderResponse]},
		"bulk_lines":     {a[orderv1.StreamOrderLinesResponse]},
		"document":       {a[productv1.Document]},
	}
	structs = map[string][]func() any{
		"browse":  {a[shopthrift.ListProductsWithReviewsResponse]},
		"product": {a[shopthrift.Product]},
		"login":   {a[shopthrift.User]},
		"order_history": {
			a[shopthrift.ListOrdersByUserResponse], a[shopthrift.BatchGetProductsResponse], a[shopthrift.BatchGetPaymentsByOrderResponse],
		},
		"checkout":       {a[shopthrift.Order]},
		"update_profile": {a[shopthrift.User]},
		"order_status":   {a[shopthrift.Order], a[shopthrift.BatchGetPaymentsByOrderResponse]},
		"bulk_lines":     {a[shopthrift.StreamOrderLinesResponse]},
		"document":       {a[shopthrift.Document]},
	}
	canonical = map[string][]func() any{
		"browse": {a[browse]}, "product": {a[product]}, "login": {a[login]}, "order_history": {a[orderHistory]},
		"checkout": {a[checkout]}, "update_profile": {a[updateProfile]}, "order_status": {a[orderStatus]}, "bulk_lines": {a[bulkLines]},
		"document": {a[document]},
	}
	responses = map[string][]func() any{
		"browse": {a[response[browseData]]}, "product": {a[response[productData]]}, "login": {a[response[loginData]]},
		"order_history": {a[response[orderHistoryData]]}, "checkout": {a[response[checkoutData]]},
		"update_profile": {a[response[updateProfileData]]}, "order_status": {a[response[orderStatusData]]},
		"bulk_lines": {a[response[bulkLinesData]]}, "document": {a[response[documentData]]},
	}
)
