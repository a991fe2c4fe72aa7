package database

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// acquireSpan is what the instrument counts as waiting for a connection.
const acquireSpan = "pool.acquire"

var (
	firstWord = regexp.MustCompile(`[A-Za-z]+`)
	change    = regexp.MustCompile(`\b(INSERT INTO|DELETE FROM|UPDATE) ([a-z_]+)`)
	read      = regexp.MustCompile(`\bFROM ([a-z_]+)\b(\()?`) // with a parenthesis, a function
	innermost = regexp.MustCompile(`\([^()]*\)`)
)

// statements makes a CLIENT span of every statement of a sampled request, and an INTERNAL one of every wait for a connection.
type statements struct{ tracer trace.Tracer }

var (
	_ pgx.QueryTracer       = statements{}
	_ pgxpool.AcquireTracer = statements{}
)

type spanKey struct{}

func (s statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx
	}
	operation, summary := named(data.SQL)
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

// begin does not make the span the current one: nothing else happens below it.
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

// known has the names of statements, whose texts are few.
var known sync.Map

type name struct{ operation, summary string }

// named returns a statement's operation, and that with its table: of the outermost change, else of what it reads.
func named(sql string) (operation, summary string) {
	if found, ok := known.Load(sql); ok {
		return found.(name).operation, found.(name).summary
	}
	operation, table := strings.ToUpper(firstWord.FindString(sql)), ""
	switch operation {
	case "WITH", "INSERT", "UPDATE", "DELETE":
		outer := sql
		for shorter := innermost.ReplaceAllString(outer, ""); shorter != outer; shorter = innermost.ReplaceAllString(outer, "") {
			outer = shorter
		}
		if found := change.FindStringSubmatch(outer); found != nil {
			operation, _, _ = strings.Cut(found[1], " ")
			table = found[2]
		}
	case "SELECT":
		for _, found := range read.FindAllStringSubmatch(sql, -1) {
			if found[2] == "" {
				table = found[1]
				break
			}
		}
	}
	summary = strings.TrimSpace(operation + " " + table)
	known.Store(sql, name{operation, summary})
	return operation, summary
}
