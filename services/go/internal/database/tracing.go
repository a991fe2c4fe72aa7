package database

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// acquireSpan is the name of the span that the instrument counts as the wait for a connection.
const acquireSpan = "pool.acquire"

// SpanNames has the operation and the table of each statement, such as "SELECT product", by the statement's SQL.
type SpanNames map[string]string

// statements makes a CLIENT span for every statement of a sampled request, and an INTERNAL span for every wait for a
// connection.
type statements struct {
	tracer trace.Tracer
	names  SpanNames
}

var (
	_ pgx.QueryTracer       = statements{}
	_ pgxpool.AcquireTracer = statements{}
)

type spanKey struct{}

func (s statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx
	}
	summary, isNamed := s.names[data.SQL]
	if !isNamed { // a statement of pgx itself: begin, commit, rollback
		summary, _, _ = strings.Cut(strings.ToUpper(data.SQL), " ")
	}
	operation, _, _ := strings.Cut(summary, " ")
	return s.begin(ctx, summary, trace.SpanKindClient, attribute.String("db.system.name", "postgresql"),
		attribute.String("db.operation.name", operation), attribute.String("db.query.summary", summary))
}

func (statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	end(ctx, data.Err)
}

func (s statements) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx
	}
	return s.begin(ctx, acquireSpan, trace.SpanKindInternal)
}

func (statements) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	end(ctx, data.Err)
}

// begin does not make the span the current one, because the span has no children.
func (s statements) begin(
	ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue,
) context.Context {
	_, span := s.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return context.WithValue(ctx, spanKey{}, span)
}

func end(ctx context.Context, err error) {
	span, traced := ctx.Value(spanKey{}).(trace.Span)
	if !traced {
		return
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		span.SetStatus(codes.Error, "") // the error's own text may quote a row
	}
	span.End()
}
