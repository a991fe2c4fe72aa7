package rest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/web"
)

const (
	gzipSuffix   = "-gzip" // ends the entity tag of a compressed body
	problemTypes = "https://hopwise.invalid/problems/"
)

// Created has the document and the path of a created resource.
type Created struct {
	Document any
	Location string
}

// send answers with a document, and returns the status. The answer to a GET is public: all callers get the same answer.
func send(w http.ResponseWriter, r *http.Request, document any) int {
	header, status := w.Header(), http.StatusOK
	created, isNew := document.(Created)
	switch {
	case document == nil:
		header.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	case isNew:
		document, status = created.Document, http.StatusCreated
		header.Set("Location", created.Location)
	}
	body := Encode(document)
	tag := EntityTag(body)
	header.Set("ETag", quote(tag))
	header.Set("Cache-Control", "no-store")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		header.Set("Cache-Control", "public, max-age=60")
		known := r.Header.Get("If-None-Match")
		if has := match(strings.ReplaceAll(known, "W/", ""), tag); has != "" || strings.TrimSpace(known) == "*" {
			header.Set("ETag", cmp.Or(has, quote(tag)))
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified
		}
	}
	write(w, status, "application/json", body)
	return status
}

func write(w http.ResponseWriter, status int, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Encode returns a document as JSON.
func Encode(document any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil { // only for values that JSON cannot express
		panic(err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// EntityTag returns the tag of a body, without quotes; all implementations give the same body the same tag.
func EntityTag(body []byte) string {
	hash := xxh3.Hash128(body).Bytes()
	return hex.EncodeToString(hash[:])
}

func quote(tag string) string { return `"` + tag + `"` }

// Matches tells whether a list of strong entity tags contains this tag, for the plain or for the compressed body.
func Matches(list, tag string) bool { return match(list, tag) != "" }

func match(list, tag string) string {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == quote(tag) || one == quote(tag+gzipSuffix) {
			return one
		}
	}
	return ""
}

// problem is an error in the form of RFC 9457, with the shop's code and details.
type problem struct {
	Type     string       `json:"type"`
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail"`
	Instance string       `json:"instance"`
	Code     shoperr.Code `json:"code"`
	Field    string       `json:"field,omitempty"`
	Errors   []fieldError `json:"errors,omitempty"`
}

type fieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// titles are for statuses that only HTTP has.
var titles = map[int]string{
	http.StatusMethodNotAllowed:     "Method not allowed",
	http.StatusRequestTimeout:       "Request timeout",
	http.StatusUnsupportedMediaType: "Unsupported media type",
}

func sendProblem(w http.ResponseWriter, path string, r *web.Refusal) {
	failure, header := r.Failure, w.Header()
	title, isOfHTTP := titles[r.Status]
	kind := strings.ReplaceAll(strings.ToLower(title), " ", "-")
	if !isOfHTTP {
		title, kind = failure.Code.Title(), strings.ReplaceAll(strings.ToLower(string(failure.Code)), "_", "-")
	}
	said := problem{
		Type: problemTypes + kind, Title: title, Status: r.Status, Detail: failure.Message, Instance: path,
		Code: failure.Code, Field: failure.Field,
	}
	header.Set("Cache-Control", "no-store")
	switch r.Status {
	case http.StatusBadRequest:
		if failure.Code == shoperr.InvalidArgument {
			said.Errors = []fieldError{{failure.Field, failure.Message}}
			said.Field, _, _ = strings.Cut(failure.Field, "[")
		}
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="shop"`)
	}
	if retry := failure.RetryAfter(); retry > 0 {
		header.Set("Retry-After", strconv.Itoa(int(retry.Seconds())))
	}
	if r.Header[0] != "" {
		header.Set(r.Header[0], r.Header[1])
	}
	write(w, r.Status, "application/problem+json", Encode(said))
}
