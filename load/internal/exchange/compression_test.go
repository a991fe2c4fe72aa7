package exchange

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"hopwise/load/internal/target"
)

func TestTargetTurnsGzipOff(t *testing.T) {
	var accepted string
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { accepted = r.Header.Get("Accept-Encoding") }))
	defer web.Close()
	entry := map[target.Channel]target.Entry{target.Web: {Protocol: target.REST, URL: web.URL}}
	for uncompressed, want := range map[bool]string{false: "gzip", true: "identity"} {
		client, err := NewClient(target.Target{HTTP: 1, Entry: entry, Uncompressed: uncompressed}, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := Untraced(client.At(web.URL)).Do(t.Context(), Request{Method: http.MethodGet, Route: "/", Path: "/"}); err != nil {
			t.Fatal(err)
		}
		if accepted != want {
			t.Errorf("accepts %q, not %q", accepted, want)
		}
	}
}
