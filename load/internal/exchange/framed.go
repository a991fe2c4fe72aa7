package exchange

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"hopwise/load/internal/outcome"
)

// A service closes a connection that is idle for 75 s, so a connection that is idle for framedIdle is not used.
const framedIdle = 60 * time.Second

// framed holds the connections to one service over framed Thrift, each of which carries one call at a time.
type framed struct {
	client  *Client
	service string
	free    chan *framedConn // one slot for each connection, open or not
}

// framedConn is a connection, or a free slot for a connection.
type framedConn struct {
	net.Conn
	address string
	used    time.Time
}

// openFramed makes slots for the connections to each service, and assigns them to the service's replicas in turn.
func (at *Entrance) openFramed(services map[string][]string, connections int) {
	if at.framed != nil {
		return
	}
	at.framed = map[string]*framed{}
	for service, addresses := range services {
		f := &framed{at.client, service, make(chan *framedConn, connections)}
		for i := range connections {
			f.free <- &framedConn{address: addresses[i%len(addresses)]}
		}
		at.framed[service] = f
	}
}

func (f *framed) connect(ctx context.Context) error {
	for range cap(f.free) {
		c, err := f.take(ctx)
		if err != nil {
			return fmt.Errorf("the %s service: %w", f.service, err)
		}
		f.free <- c
	}
	return nil
}

// take waits for a free slot, and opens its connection if necessary. The caller must give the connection back.
func (f *framed) take(ctx context.Context) (*framedConn, error) {
	var c *framedConn
	select {
	case c = <-f.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.Conn != nil && time.Since(c.used) > framedIdle {
		c.shut()
	}
	if c.Conn == nil {
		opened, err := f.client.dial(ctx, "tcp", c.address)
		if err != nil {
			f.free <- c
			return nil, &unopened{err} // as for HTTP
		}
		c.Conn, c.used = opened, time.Now()
	}
	return c, nil
}

func (c *framedConn) shut() {
	_ = c.Close()
	c.Conn = nil
}

func (f *framed) close() {
	for range len(f.free) {
		if c := <-f.free; c.Conn != nil {
			c.shut()
		}
	}
}

type FramedCall struct {
	Service, Method string
	Write           func(traceparent string) ([]byte, error) // makes the message
	Read            func(answer []byte) error                // reads its answer
}

// Frame sends one call and reads its answer.
//
// A failure has a class: client if there was no connection to send on, server if there was no answer, timeout if the
// context's deadline passed. An answer that breaks off is a wrong_answer. Otherwise Read decides the class.
func (x *Exchange) Frame(ctx context.Context, c FramedCall) error {
	x.begin()
	call := x.trace.Thrift(c.Service, c.Method)
	err := x.frame(ctx, c, call.Traceparent())
	x.end(nil, call).End(0, err)
	return err
}

func (x *Exchange) frame(ctx context.Context, c FramedCall, traceparent string) error {
	service := x.at.framed[c.Service]
	message, err := c.Write(traceparent)
	if err != nil {
		return outcome.Failed(outcome.Client, "%s: %w", c.Method, err)
	}
	connection, err := service.take(ctx)
	if err != nil {
		return outcome.Failed(outcome.Client, "%s: %w", c.Method, err)
	}
	answer, err := connection.exchange(ctx, message)
	if err != nil {
		connection.shut()
	}
	service.free <- connection
	x.sizes.out.Add(int64(len(message)))
	x.sizes.in.Add(int64(len(answer)))
	x.sizes.inRaw.Add(int64(len(answer)))
	switch {
	case err == nil:
		x.status.Store(http.StatusOK) // the status of every answer over HTTP
		return c.Read(answer)
	case ctx.Err() != nil:
		return outcome.Failed(outcome.Timeout, "%s: %w", c.Method, ctx.Err())
	case errors.Is(err, errBreaksOff):
		return outcome.Wrong("%s: %w", c.Method, err)
	}
	return outcome.Failed(outcome.Server, "%s: %w", c.Method, err)
}

var errBreaksOff = errors.New("the answer breaks off")

// exchange sends a message and reads its answer; each is preceded by its length.
func (c *framedConn) exchange(ctx context.Context, message []byte) ([]byte, error) {
	_ = c.SetDeadline(time.Time{})
	connection := c.Conn // the function may run once the call has returned, and c.Conn is another connection
	stop := context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(message)), uint32(len(message)))
	if _, err := c.Write(append(frame, message...)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, fmt.Errorf("there is no answer: %w", err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxBody {
		return nil, fmt.Errorf("%w: its length is given as %d bytes", errBreaksOff, size)
	}
	answer := make([]byte, size)
	if n, err := io.ReadFull(c, answer); err != nil {
		return answer[:n], fmt.Errorf("%w after %d bytes: %w", errBreaksOff, n, err)
	}
	c.used = time.Now()
	if !stop() {
		c.shut() // the deadline could still end the next call
	}
	return answer, nil
}
