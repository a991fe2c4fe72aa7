package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"hopwise/services/internal/guard"
)

func TestADelayIsPartOfTheCallersTime(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set(guard.DeadlineHeader, "100")
	Trace(noop.NewTracerProvider().Tracer(""), r, "/", 80*time.Millisecond, func(ctx context.Context) Outcome {
		if deadline, has := ctx.Deadline(); !has || time.Until(deadline) > 20*time.Millisecond {
			t.Errorf("after the delay, the deadline is %v away", time.Until(deadline))
		}
		return Outcome{}
	})
}
