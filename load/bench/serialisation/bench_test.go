package main

import (
	"strings"
	"testing"
)

const (
	loginAnswer = `{"answers": [{"journey": "login", "encoding": "json", "parts": ["eyJpZCI6MSwiZW1haWwiOiJhIiwibmFtZSI6ImIifQ=="]}]}`
	sized       = `{"sizes":[{"journey":"login","encoding":"json","bytes":31,"gzip_bytes":`
)

func TestQuestionsAreAnswered(t *testing.T) {
	var asked strings.Builder
	asked.WriteString(loginAnswer)
	operations := []string{"encode", "decode", "gzip", "gunzip"}
	for _, operation := range operations {
		asked.WriteString(`{"cell": {"journey": "login", "encoding": "json", "operation": "` + operation + `", "lap_us": 10}}`)
	}
	var out strings.Builder
	if err := serve(strings.NewReader(asked.String()), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+len(operations) || !strings.HasPrefix(lines[0], sized) {
		t.Fatal(out.String())
	}
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, `{"us":`) {
			t.Error(line)
		}
	}
}

func TestUnanswerableQuestions(t *testing.T) {
	for name, c := range map[string]struct{ asked, want string }{
		"another journey":   {`{"answers": [{"journey": "tea", "encoding": "json", "parts": [""]}]}`, "tea as json: there is no such answer"},
		"another encoding":  {`{"answers": [{"journey": "login", "encoding": "bson", "parts": [""]}]}`, "login as bson: there is no such answer"},
		"a body too many":   {`{"answers": [{"journey": "login", "encoding": "json", "parts": ["", ""]}]}`, "2 bodies instead of 1"},
		"not the encoding":  {`{"answers": [{"journey": "login", "encoding": "protobuf", "parts": ["/w=="]}]}`, "login as protobuf: proto"},
		"not asked before":  {`{"cell": {"journey": "login", "encoding": "json", "operation": "encode"}}`, "there is no answer of login as json"},
		"another operation": {loginAnswer + `{"cell": {"journey": "login", "encoding": "json", "operation": "fold"}}`, "there is no operation fold"},
	} {
		err := serve(strings.NewReader(c.asked), &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
