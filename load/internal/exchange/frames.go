package exchange

import (
	"context"
	"encoding/binary"
	"net"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/credentials"
)

// watched wraps credentials, so that each connection records how gRPC requests cross the link. gRPC queues a request,
// and another goroutine writes its frames, which are still unencrypted here.
type watched struct {
	credentials.TransportCredentials
	reach reach
}

func (w watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	if c := w.reach.At(raw.LocalAddr()); c != nil {
		secure = newFrames(secure, c)
	}
	return secure, info, nil
}

func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone(), w.reach}
}

// Constants of HTTP/2 (RFC 9113, sections 3.4, 4.1, 6 and 6.5.2).
const (
	preface           = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	dataFrame         = 0
	headerFrame       = 1
	continuationFrame = 9
	endStream         = 0x1
	endHeaders        = 0x4
	headerTable       = 4096
)

// frames parses HTTP/2 frames as they are written: the frame headers, and the header field that identifies a stream's
// request.
//
// It relies on gRPC not to pad headers or send priorities.
type frames struct {
	net.Conn
	connection *connection
	head       [9]byte
	have       int    // bytes of the next frame's header that have been read
	skip       int    // remaining bytes of the current frame
	kind       byte   // kind of the current frame
	flags      byte   // flags of the current frame
	stream     uint32 // stream of the current frame; 0 for the connection itself
	headers    *hpack.Decoder
}

func newFrames(c net.Conn, of *connection) *frames {
	f := &frames{Conn: c, connection: of, skip: len(preface)}
	f.headers = hpack.NewDecoder(headerTable, func(header hpack.HeaderField) {
		if header.Name == traceparent {
			f.connection.named(header.Value, f.stream)
		}
	})
	return f
}

// Write writes whole or partial frames, one caller at a time.
func (f *frames) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	for left := p[:n]; ; {
		skipped := min(f.skip, len(left))
		f.read(left[:skipped])
		left = left[skipped:]
		if f.skip -= skipped; f.skip > 0 {
			return n, err
		}
		f.end()
		taken := copy(f.head[f.have:], left)
		left = left[taken:]
		if f.have += taken; f.have < len(f.head) {
			return n, err
		}
		f.begin()
	}
}

func (f *frames) begin() {
	f.have, f.skip = 0, int(binary.BigEndian.Uint32(f.head[:4])>>8)
	f.kind, f.flags, f.stream = f.head[3], f.head[4], binary.BigEndian.Uint32(f.head[5:])
}

// read reads a part of a frame. If headers cannot be read, their request stays unidentified.
func (f *frames) read(part []byte) {
	if f.stream != 0 && f.hasHeaders() {
		_, _ = f.headers.Write(part)
	}
}

func (f *frames) hasHeaders() bool { return f.kind == headerFrame || f.kind == continuationFrame }

func (f *frames) end() {
	if f.stream == 0 {
		return
	}
	if f.hasHeaders() && f.flags&endHeaders != 0 {
		_ = f.headers.Close()
	}
	if f.kind == headerFrame || f.kind == dataFrame {
		f.connection.wrote(f.stream, f.flags&endStream != 0)
	}
	f.stream = 0
}
