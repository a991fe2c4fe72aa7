package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAClientThatReadsNothingLosesItsConnection(t *testing.T) {
	ended := make(chan struct{})
	served := httptest.NewUnstartedServer(nil)
	served.Config = newHTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		part := make([]byte, 64<<10)
		for err := error(nil); err == nil; {
			_, err = w.Write(part)
		}
	}))
	served.Config.WriteTimeout /= 100
	served.Start()
	defer served.Close()
	client, err := net.Dial("tcp", served.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: shop\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the answer has not ended")
	}
}
