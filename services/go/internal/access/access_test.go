package access

import "testing"

const edge = "spiffe://cluster.local/ns/default/sa/edge"

func TestCallerIdentity(t *testing.T) {
	for header, want := range map[string]string{
		"URI=" + edge: edge,
		`Hash=00;Subject="CN=a,b;c";URI="` + edge + `"`: edge,
		"URI=spiffe://x/a,By=y;URI=" + edge:             edge,
		"URI=" + edge + ",Hash=00":                      "",
		"URI=" + edge + ";URI=" + edge:                  "",
		"URI=" + edge + ",":                             "",
		`Subject="URI=` + edge + `"`:                    "",
		"URI=https://cluster.local/a":                   "",
		"":                                              "",
		"nonsense":                                      "",
		`Subject="unfinished;URI=` + edge:               "",
		`Subject="a\";URI=` + edge + `;x=\"";URI=spiffe://other.org/ns/a`: "spiffe://other.org/ns/a",
	} {
		if got := callerIdentity(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}
