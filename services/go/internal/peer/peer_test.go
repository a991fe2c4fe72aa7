package peer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hopwise/proto/stubs/productv1"
	"hopwise/services/internal/config"
	"hopwise/services/internal/shoperr"
)

func TestErrorsOfServices(t *testing.T) {
	theirs := shoperr.New(shoperr.OutOfStock, "lines[0].quantity", "too few").GRPCStatus().Err()
	soon := shoperr.Error{Code: shoperr.TooManyRequests, Message: "come again", Retry: time.Second}
	for _, row := range []struct {
		err  error
		want shoperr.Error
	}{
		{theirs, shoperr.Error{Code: shoperr.OutOfStock, Field: "lines[0].quantity", Message: "too few"}},
		{fmt.Errorf("failed after 3 attempts: %w", theirs),
			shoperr.Error{Code: shoperr.OutOfStock, Field: "lines[0].quantity", Message: "too few"}},
		{soon.GRPCStatus().Err(), soon},
		{status.Error(codes.DeadlineExceeded, "x"), shoperr.Error{Code: shoperr.DeadlineExceeded,
			Message: "the user service did not answer within the deadline of the request"}},
		{status.Error(codes.Unavailable, "x"), shoperr.Error{Code: shoperr.Unavailable,
			Message: "the user service does not answer; try again"}},
		{status.Error(codes.ResourceExhausted, "too large"), shoperr.Error{Code: shoperr.ResourceExhausted, Message: "too large"}},
		{status.Error(codes.Unknown, "password=hunter2"), shoperr.Error{Code: shoperr.Internal, Message: "internal error"}},
	} {
		var got *shoperr.Error
		if !errors.As(Restore(row.err, "user"), &got) || *got != row.want {
			t.Errorf("%v: got %v", row.err, got)
		}
	}
}

func TestOnlyReadOnlyCallsAreRetried(t *testing.T) {
	const want = `{"healthCheckConfig":{"serviceName":"shop.product.v1.ProductService"},` +
		`"loadBalancingConfig":[{"round_robin":{}}],"methodConfig":[{"name":[` +
		`{"method":"GetProduct","service":"shop.product.v1.ProductService"},` +
		`{"method":"BatchGetProducts","service":"shop.product.v1.ProductService"},` +
		`{"method":"ListProducts","service":"shop.product.v1.ProductService"},` +
		`{"method":"BatchListReviews","service":"shop.product.v1.ProductService"},` +
		`{"method":"BatchGetProductsWithReviews","service":"shop.product.v1.ProductService"},` +
		`{"method":"ListProductsWithReviews","service":"shop.product.v1.ProductService"},` +
		`{"method":"StreamProductRows","service":"shop.product.v1.ProductService"},` +
		`{"method":"GetDocument","service":"shop.product.v1.ProductService"},` +
		`{"method":"StreamDocument","service":"shop.product.v1.ProductService"}],` +
		`"retryPolicy":{"backoffMultiplier":2,"initialBackoff":"0.05s","maxAttempts":3,"maxBackoff":"0.4s",` +
		`"retryableStatusCodes":["UNAVAILABLE"]}}],"retryThrottling":{"maxTokens":100,"tokenRatio":0.1}}`
	service := productv1.File_shop_product_v1_product_proto.Services().Get(0)
	if got := serviceConfig(service, config.Peer{Addresses: []string{"127.0.0.1:1", "127.0.1.1:1"}}); got != want {
		t.Errorf("got %s", got)
	}
}
