// Command serialisation measures how long Go takes to encode and decode answers.
//
// It is the Go half of `python -m serialisation`: it reads questions, one per line in JSON, and answers each with a
// line of JSON. The first question has the encoded answers; each later question requests one measurement.
//
//	{"answers": [{"journey": "login", "encoding": "json", "parts": ["eyJpZCI6..."]}]}
//	{"sizes": [{"journey": "login", "encoding": "json", "bytes": 61, "gzip_bytes": 78}]}
//	{"cell": {"journey": "login", "encoding": "json", "operation": "decode", "lap_us": 20000}}
//	{"us": 1.7}
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

type question struct {
	Answers []input `json:"answers"`
	Cell    *cell   `json:"cell"`
}

// input is an answer in one encoding: one body, or one for each method that the journey calls.
type input struct {
	Journey  string   `json:"journey"`
	Encoding string   `json:"encoding"`
	Parts    [][]byte `json:"parts"`
}

type cell struct {
	Journey   string  `json:"journey"`
	Encoding  string  `json:"encoding"`
	Operation string  `json:"operation"`
	LapUs     float64 `json:"lap_us"`
}

type size struct {
	Journey   string `json:"journey"`
	Encoding  string `json:"encoding"`
	Bytes     int    `json:"bytes"`
	GzipBytes int    `json:"gzip_bytes"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"error": err.Error()})
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	subjects := map[[2]string]*subject{}
	for {
		var q question
		if err := questions.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var answer any
		if q.Cell == nil {
			sizes := make([]size, 0, len(q.Answers))
			for _, i := range q.Answers {
				s, err := newSubject(i)
				if err != nil {
					return fmt.Errorf("%s as %s: %w", i.Journey, i.Encoding, err)
				}
				subjects[[2]string{i.Journey, i.Encoding}] = s
				sizes = append(sizes, size{i.Journey, i.Encoding, length(s.encoded), length(s.packed)})
			}
			answer = map[string]any{"sizes": sizes}
		} else {
			s, ok := subjects[[2]string{q.Cell.Journey, q.Cell.Encoding}]
			if !ok {
				return fmt.Errorf("there is no answer of %s as %s", q.Cell.Journey, q.Cell.Encoding)
			}
			us, err := s.measure(q.Cell.Operation, q.Cell.LapUs)
			if err != nil {
				return err
			}
			answer = map[string]any{"us": us}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}
