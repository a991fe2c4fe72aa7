package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/attack"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/proto/stubs/productv1"
)

type maxFlags struct {
	url, grpc   string
	get         string
	http        int
	requests    uint64
	connections int
	timeout     time.Duration
	closed      attack.Closed
}

func newMax() *cobra.Command {
	var f maxFlags
	cmd := &cobra.Command{
		Use:   "max --url URL | --grpc ADDRESS",
		Short: "Finds how fast this program can send, against `shopload echo`",
		Long: `Runs virtual users that each send one small request after the other, and prints the number of answers per second: the generator's own
maximum if the server does almost no work. With --get, it sends requests to any HTTP server. Exits with 1 if a request fails.`,
		Example: "  shopload max --url http://127.0.0.1:18180 --http 1 --vus 16 --connections 16 --duration 5s",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "base URL of an HTTP server that answers POST /echo with the request's body")
	flags.StringVar(&f.get, "get", "", "path to GET instead of POST /echo; every answer must have status 200; needs --url")
	flags.StringVar(&f.grpc, "grpc", "", "host:port of a gRPC server that answers GetProduct with the requested id")
	flags.IntVar(&f.http, "http", 2, "HTTP version, 1 or 2; needs --url")
	flags.IntVar(&f.closed.VUs, "vus", 16, "number of virtual users, each with one request in flight")
	flags.IntVar(&f.connections, "connections", defaultConnections, "number of client connections")
	flags.DurationVar(&f.closed.Duration, "duration", 5*time.Second, "how long to send requests")
	flags.Uint64Var(&f.requests, "requests", 0, "number of requests after which to end; 0 for no limit")
	flags.DurationVar(&f.timeout, "timeout", defaultTimeout, "time limit of one request")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }
	return cmd
}

func (f *maxFlags) target() (target.Target, error) {
	at := target.Entry{Protocol: target.REST, URL: f.url}
	if f.grpc != "" {
		at = target.Entry{Protocol: target.GRPC, URL: "http://" + f.grpc}
	}
	t := target.Target{HTTP: f.http, Entry: map[target.Channel]target.Entry{target.Web: at}}
	if (f.url == "") == (f.grpc == "") {
		return t, fmt.Errorf("give either --url or --grpc")
	}
	if u, err := url.Parse(at.URL); err != nil || u.Scheme != "http" || u.Port() == "" || u.Path != "" {
		return t, fmt.Errorf("%q is not of the form http://host:port, or host:port for --grpc", f.url+f.grpc)
	}
	switch {
	case f.get != "" && (f.url == "" || !strings.HasPrefix(f.get, "/")):
		return t, fmt.Errorf("--get %q: it must be a path, such as /v1/products/1, and needs --url", f.get)
	case f.http != 1 && f.http != 2:
		return t, fmt.Errorf("--http is %d; versions: 1, 2", f.http)
	case f.connections < 1 || f.connections > target.MaxConnections:
		return t, fmt.Errorf("--connections %d is not between 1 and %d", f.connections, target.MaxConnections)
	case f.timeout <= 0:
		return t, fmt.Errorf("--timeout %v is not above 0", f.timeout)
	}
	return t, f.closed.Check()
}

func (f *maxFlags) run(cmd *cobra.Command) error {
	t, err := f.target()
	if err != nil {
		return badInput{err}
	}
	client, err := exchange.NewClient(t, f.connections)
	if err != nil {
		return badInput{err}
	}
	defer client.Close()
	limited, cancel := context.WithTimeout(cmd.Context(), prepareTimeout)
	defer cancel()
	if err := client.Connect(limited); err != nil {
		return err
	}
	send := post
	switch {
	case f.grpc != "":
		send = getProduct
	case f.get != "":
		send = f.getPath
	}
	maximum := attack.Flood(cmd.Context(), client.At(t.Entry[target.Web].URL), f.closed, f.requests, f.timeout, send)
	if err := printJSON(cmd.OutOrStdout(), maximum); err != nil {
		return err
	}
	switch {
	case cmd.Context().Err() != nil:
		return errInterrupted
	case maximum.Failed > 0:
		return fmt.Errorf("%d of %d requests failed; the last one: %s", maximum.Failed, maximum.Failed+maximum.Requests, maximum.Error)
	}
	return nil
}

const (
	echoPath  = "/echo"
	productID = 1
)

var echoBody = []byte(`{"id":1}`)

func post(ctx context.Context, x *exchange.Exchange) error {
	response, err := x.Do(ctx, exchange.Request{Method: http.MethodPost, Route: echoPath, Path: echoPath, Body: echoBody})
	if err == nil && (response.Status != http.StatusOK || !bytes.Equal(response.Body, echoBody)) {
		err = outcome.Wrong("status %d and %d bytes instead of the request's body", response.Status, len(response.Body))
	}
	return err
}

func (f *maxFlags) getPath(ctx context.Context, x *exchange.Exchange) error {
	response, err := x.Do(ctx, exchange.Request{Method: http.MethodGet, Route: f.get, Path: f.get})
	if err == nil && response.Status != http.StatusOK {
		err = outcome.Wrong("status %d instead of 200", response.Status)
	}
	return err
}

func getProduct(ctx context.Context, x *exchange.Exchange) error {
	product, err := productv1.NewProductServiceClient(x.Channel("")).GetProduct(ctx, &productv1.GetProductRequest{Id: productID})
	if err == nil && product.Id != productID {
		err = outcome.Wrong("product %d instead of %d", product.Id, productID)
	}
	return err
}
