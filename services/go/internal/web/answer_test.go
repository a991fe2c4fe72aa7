package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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

func TestALongPathIsCutInItsSpan(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+strings.Repeat("ä", 2*maxPath), nil)
	Trace(tracer, r, "", 0, func(context.Context) Outcome { return Outcome{} })
	want := attribute.String("url.path", "/"+strings.Repeat("ä", maxPath-1))
	if got := spans.Ended()[0].Attributes(); !slices.Contains(got, want) {
		t.Errorf("the path is not cut to %d characters", maxPath)
	}
}
