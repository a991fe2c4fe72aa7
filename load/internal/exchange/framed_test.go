package exchange

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
)

// The service reads one frame and answers in various ways, or does not listen.
func TestClassesOfFramedFailures(t *testing.T) {
	for name, c := range map[string]struct {
		answer []byte // nil for a service that hangs
		away   bool
		want   outcome.Class
	}{
		"answers":          {answer: []byte("\x00\x00\x00\x02ok"), want: outcome.OK},
		"is not there":     {away: true, want: outcome.Client},
		"says nothing":     {answer: []byte{}, want: outcome.Server},
		"breaks off":       {answer: []byte("\x00\x00\x00\x09ok"), want: outcome.WrongAnswer},
		"is far too large": {answer: []byte("\xff\xff\xff\xff"), want: outcome.WrongAnswer},
		"hangs":            {want: outcome.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.ReadFull(connection, make([]byte, 4+len("call")))
				if c.answer == nil {
					<-t.Context().Done()
				}
				_, _ = connection.Write(c.answer)
				_ = connection.Close()
			}()
			address := listener.Addr().String()
			if c.away {
				_ = listener.Close()
			}
			services := map[string][]string{"product": {address}}
			entry := target.Entry{Protocol: target.Thrift, URL: "thrift://" + address, Services: services}
			client, err := NewClient(target.Target{HTTP: 1, Entry: map[target.Channel]target.Entry{target.Web: entry}}, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			err = frame(ctx, client.At(entry.URL))
			if got := outcome.Of(err); got != c.want {
				t.Errorf("class %s instead of %s: %v", got, c.want, err)
			}
		})
	}
}

func frame(ctx context.Context, at *Entrance) error {
	return Untraced(at).Frame(ctx, FramedCall{
		Service: "product", Method: "GetProduct",
		Write: func(string) ([]byte, error) { return []byte("call"), nil },
		Read:  func([]byte) error { return nil },
	})
}

// cancelling is a connection whose call is cancelled once the body of the answer has been read.
type cancelling struct {
	net.Conn
	body   int
	cancel context.CancelFunc
}

func (c *cancelling) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to)
	if n == c.body {
		c.cancel()
	}
	return n, err
}

// A call that is cancelled while it ends returns its answer, but its connection carries no other call.
func TestFramedCallIsCancelledAtItsEnd(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		_, _ = io.ReadFull(far, make([]byte, 4+len("call")))
		_, _ = far.Write([]byte("\x00\x00\x00\x02ok"))
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &framedConn{Conn: &cancelling{near, len("ok"), cancel}}
	answer, err := c.exchange(ctx, []byte("call"))
	if err != nil || string(answer) != "ok" || c.Conn != nil {
		t.Errorf("%q, %v, connection %v", answer, err, c.Conn)
	}
}
