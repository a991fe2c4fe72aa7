// Package database has a service's connections to PostgreSQL: traced, and bound to the caller's deadline.
package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/config"
	"hopwise/services/internal/shoperr"
)

const (
	connectLimit = 20 * time.Second // for a database that is still starting
	connectPause = 200 * time.Millisecond
	connectOnce  = 5 * time.Second
	resetLimit   = 3 * time.Second // for a connection whose statement was cut off
	canNotYet    = "57P03"         // cannot_connect_now
)

// Open opens connections and waits until the database answers; names has the names for the spans of the statements.
func Open(
	ctx context.Context, databaseURL string, connections int32, tracer trace.Tracer, names SpanNames,
) (*pgxpool.Pool, error) {
	c, err := configure(databaseURL, connections)
	if err != nil {
		return nil, err
	}
	c.ConnConfig.Tracer = statements{tracer, names}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("%s:%d/%s", c.ConnConfig.Host, c.ConnConfig.Port, c.ConnConfig.Database)
	if err := awaitAnswer(ctx, pool, where); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func configure(databaseURL string, connections int32) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(databaseURL)
	if err != nil { // its text may hold the password
		return nil, config.Error("SHOP_DATABASE_URL is not valid; valid: a URL with a host and the scheme postgresql or postgres")
	}
	c.MinConns, c.MaxConns = connections, connections
	c.MaxConnLifetime = 0 // no limit: otherwise requests would wait while all connections are replaced at once
	c.ConnConfig.ConnectTimeout = connectOnce
	c.ConnConfig.RuntimeParams = map[string]string{"application_name": "shop", "jit": "off", "timezone": "UTC"}
	// A connection stays usable after one of its statements is cut off.
	c.ConnConfig.BuildContextWatcherHandler = func(connection *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: connection, DeadlineDelay: resetLimit}
	}
	// Idle connections are not pinged: a ping is an additional round trip, and no span would show it.
	c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return c, nil
}

func awaitAnswer(ctx context.Context, pool *pgxpool.Pool, where string) error {
	for began := time.Now(); ; {
		err := pool.Ping(ctx)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.Code != canNotYet:
			return fmt.Errorf("the database at %s refuses SHOP_DATABASE_URL: %s", where, refused.Message)
		case ctx.Err() != nil || time.Since(began) > connectLimit:
			return fmt.Errorf("the database at %s does not answer; is it running?", where)
		}
		time.Sleep(connectPause)
	}
}

// InTransaction does work in a READ COMMITTED transaction, which rolls back if the work fails. A rollback has time even if
// the caller's deadline has passed, because pgx closes a connection that did not roll back.
func InTransaction(ctx context.Context, pool *pgxpool.Pool, work func(pgx.Tx) error) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return ClientError(ctx, err)
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetLimit)
		defer cancel()
		_ = tx.Rollback(limited) // does nothing after the commit
	}()
	if err = cmp.Or(work(tx), ctx.Err()); err == nil {
		err = tx.Commit(ctx)
	}
	return ClientError(ctx, err)
}

// ClientError turns an error of the database into the error for callers, and returns other errors unchanged.
func ClientError(ctx context.Context, err error) error {
	known := new(shoperr.Error)
	if err == nil || errors.As(err, &known) {
		return err
	}
	code, message := meaning(ctx, err)
	if code == shoperr.Internal {
		slog.Error("the database refused a statement", "error", redact(err))
	}
	return &shoperr.Error{Code: code, Message: message, Cause: redact(err)}
}

func meaning(ctx context.Context, err error) (shoperr.Code, string) {
	var of *pgconn.PgError
	if ctx.Err() != nil || (errors.As(err, &of) && of.Code == "57014") {
		return shoperr.DeadlineExceeded, "the deadline of the request passed in the database"
	}
	switch {
	case of == nil || strings.HasPrefix(of.Code, "08") || strings.HasPrefix(of.Code, "57"):
		return shoperr.Unavailable, "the database does not answer; try again"
	case of.Code == "40P01" || of.Code == "40001" || of.Code == "55P03":
		return shoperr.Conflict, "another call is changing the same thing; try again"
	case strings.HasPrefix(of.Code, "53"):
		return shoperr.Unavailable, "the database is out of disk space, memory or connections; try again later"
	case of.Code == "25006":
		return shoperr.Unavailable, "the database accepts no changes now; try again later"
	}
	return shoperr.Internal, "internal error"
}

// redact returns an error without the row contents that PostgreSQL quotes in it.
func redact(err error) error {
	var of *pgconn.PgError
	if errors.As(err, &of) {
		return fmt.Errorf("sqlstate %s, constraint %q", of.Code, of.ConstraintName)
	}
	return err
}
