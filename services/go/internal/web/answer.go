package web

import (
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/guard"
)

const (
	minGzip = 1_024 // bytes of an answer
	maxPath = 1_000 // characters, in a span
)

// Outcome is the result of a request, for its span.
type Outcome struct {
	Status        int
	ErrorType     string // empty for no error
	IsServerFault bool
}

// Trace answers a request within its caller's time limit, and records its SERVER span if the caller samples it. Before
// the answer it waits for delay, which is set to prove the measurement. The route is empty for an unknown path.
func Trace(tracer trace.Tracer, r *http.Request, route string, delay time.Duration, answer func(context.Context) Outcome) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, cancel := guard.WithLimit(ctx, guard.EdgeWait(r.Header.Get(guard.DeadlineHeader)))
	defer cancel()
	ctx, span := tracer.Start(ctx, strings.TrimSpace(r.Method+" "+route), trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	if delay > 0 {
		guard.Pause(ctx, delay)
	}
	outcome := answer(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
		attribute.String("url.path", Cut(r.URL.Path, maxPath)), attribute.String("url.scheme", "http"),
		attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")),
		attribute.Int("http.response.status_code", outcome.Status))
	if outcome.ErrorType != "" {
		span.SetAttributes(attribute.String("error.type", outcome.ErrorType))
	}
	if outcome.IsServerFault {
		span.SetStatus(codes.Error, "")
	}
}

// Compress returns middleware that compresses answers for clients that accept gzip, and adds suffix to the entity tag
// of a compressed answer.
func Compress(suffix string) func(http.Handler) http.HandlerFunc {
	compress, err := gzhttp.NewWrapper(
		gzhttp.MinSize(minGzip), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.SuffixETag(suffix))
	if err != nil { // only for an unknown option
		panic(err)
	}
	return compress
}

// AnswerHealth reports that the process is serving.
func AnswerHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
}
