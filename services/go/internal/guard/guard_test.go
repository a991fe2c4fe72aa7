package guard

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/shoperr"
)

const method = "/shop.product.v1.ProductService/GetProduct"

func guarding(t *testing.T) *Guard {
	t.Helper()
	authenticator, err := access.New(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &Guard{Authenticator: authenticator, Rules: access.Rules{method: {Access: typev1.Access_ACCESS_INTERNAL}}}
}

func call(ctx context.Context, g *Guard, method string, work func(context.Context) error) *status.Status {
	_, err := g.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
		return nil, work(ctx)
	})
	return status.Convert(err)
}

func reason(s *status.Status) string {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

func TestCallersAreToldNothingOfTheInside(t *testing.T) {
	for name, work := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("the password is secret") },
		"a panic":  func(context.Context) error { panic("the password is secret") },
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t.Context(), guarding(t), method, work)
			if got.Code() != codes.Internal || got.Message() != "internal error" || reason(got) != "INTERNAL" {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestErrorsOfTheShopArriveAsTheyAre(t *testing.T) {
	got := call(t.Context(), guarding(t), method, func(context.Context) error { return shoperr.NoSuch("product", 7) })
	if got.Code() != codes.NotFound || got.Message() != "there is no product 7" || reason(got) != "NOT_FOUND" {
		t.Errorf("got %v", got)
	}
}

func TestOutsidersAreKeptOut(t *testing.T) {
	outside := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-hopwise-edge", ""))
	for path, want := range map[string]codes.Code{method: codes.PermissionDenied, "/grpc.health.v1.Health/Check": codes.OK} {
		if got := call(outside, guarding(t), path, func(context.Context) error { return nil }); got.Code() != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestWorkHasLessTimeThanItsCallerWaits(t *testing.T) {
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(DeadlineHeader, "100"))
	got := call(ctx, guarding(t), method, func(ctx context.Context) error {
		if deadline, has := ctx.Deadline(); !has || time.Until(deadline) > 95*time.Millisecond {
			t.Errorf("the deadline is %v", deadline)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if got.Code() != codes.DeadlineExceeded || got.Message() != Over || reason(got) != "DEADLINE_EXCEEDED" {
		t.Errorf("got %v", got)
	}
}

func TestEdgeWait(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"1": time.Millisecond, "4750": 4750 * time.Millisecond,
		"0": defaultWait, "": defaultWait, "-1": defaultWait, "+5": defaultWait, "1e3": defaultWait, "99999999999": defaultWait,
	} {
		if got := EdgeWait(header); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
