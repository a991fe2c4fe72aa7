package steps

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hopwise/load/internal/target"
)

const token = `s3cr&t "quoted"/ä`

// The server echoes its requests: the secret reaches it in every form, but appears in no error or answer.
func TestSecretsReachTheTargetAndNothingElse(t *testing.T) {
	t.Setenv("SHOP_TOKEN", token)
	var got struct{ header, query, body string }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Token, Part string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		got.header, got.query, got.body = r.Header.Get("X-Token"), r.URL.Query().Get("token"), body.Token+body.Part
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"echo": %s, "long": %q}`, marshal(token), strings.Repeat("-", maxShown-10)+token)
	}))
	defer server.Close()
	for pointer, value := range map[string]string{"/absent": "1", "/echo": `"${env:SHOP_TOKEN}!"`, "/long": "1"} {
		p := plan(t, Step{
			At: "e", Method: http.MethodPost, Path: "/x?token=${env:SHOP_TOKEN}",
			Headers: map[string]string{"x-token": "${env:SHOP_TOKEN}"},
			JSON:    raw(`{"Token": "${env:SHOP_TOKEN}", "Part": "<${env:SHOP_TOKEN}>"}`),
			Equal:   map[string]json.RawMessage{pointer: raw(value)},
		})
		_, err := run(t, p, target.REST, strings.TrimPrefix(server.URL, "http://"))
		if err == nil {
			t.Fatal("the answer is not what is expected")
		}
		if got.header != token || got.query != token || got.body != token+"<"+token+">" {
			t.Errorf("the target got %+v", got)
		}
		if strings.Contains(err.Error(), "s3cr") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
}

// Servers may escape more characters in JSON than necessary, as PHP and .NET do by default.
func TestSecretsAreHiddenInJSONOfRefusals(t *testing.T) {
	t.Setenv("SHOP_TOKEN", "ab+c/d==")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"title": "invalid token", "token": "ab\u002Bc\/d=="}`)
	}))
	defer server.Close()
	step := get("/")
	step.Headers = map[string]string{"authorization": "Bearer ${env:SHOP_TOKEN}"}
	_, err := run(t, plan(t, step), target.REST, strings.TrimPrefix(server.URL, "http://"))
	if err == nil || !strings.Contains(err.Error(), "invalid token") || !strings.Contains(err.Error(), "${env:SHOP_TOKEN}") {
		t.Errorf("the error has the secret: %v", err)
	}
}

func TestMissingEnvironmentVariable(t *testing.T) {
	_, err := textTemplate("Bearer ${env:NO_SUCH_TOKEN}")
	if err == nil || err.Error() != "the environment has no NO_SUCH_TOKEN, which ${env:NO_SUCH_TOKEN} stands for" {
		t.Error(err)
	}
}

// A longer secret is hidden completely, even if a shorter secret begins it.
func TestSecretsThatBeginAlike(t *testing.T) {
	t.Setenv("SHOP_USER", "anna")
	t.Setenv("SHOP_PASSWORD", "anna2024!")
	hidden := secretsOf([]byte("${env:SHOP_USER} ${env:SHOP_PASSWORD}")).Hide("anna:anna2024!")
	if hidden != "${env:SHOP_USER}:${env:SHOP_PASSWORD}" {
		t.Error(hidden)
	}
}

// An answer without its secrets is still JSON, even if a secret is a number or a word of JSON.
func TestSecretsInJSON(t *testing.T) {
	t.Setenv("SHOP_TENANT", "42")
	t.Setenv("SHOP_TOKEN", token)
	t.Setenv("SHOP_WORD", "null")
	secrets := secretsOf([]byte("${env:SHOP_TENANT} ${env:SHOP_TOKEN} ${env:SHOP_WORD}"))
	for text, want := range map[string]string{
		`{"tenant":42}`:                        `{"tenant":"${env:SHOP_TENANT}"}`,
		`{"total":[1420,1.50,-1]}`:             `{"total":["1${env:SHOP_TENANT}0",1.50,-1]}`,
		`{"n42":[null,true,"null"]}`:           `{"n${env:SHOP_TENANT}":[null,true,"${env:SHOP_WORD}"]}`,
		`[` + string(marshal("<"+token)) + `]`: `["<${env:SHOP_TOKEN}"]`,
	} {
		if got := string(secrets.HideInJSON([]byte(text))); got != want {
			t.Errorf("%s: %s instead of %s", text, got, want)
		}
	}
}
