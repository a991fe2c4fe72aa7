package graph

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"hopwise/proto/stubs/productv1"
)

// Document is a technical document.
type Document struct{ *productv1.Document }

// Section is the records of a document below one heading.
type Section struct{ *productv1.DocumentSection }

// Record is one test of a document.
type Record struct{ *productv1.DocumentRecord }

func (d *Document) ID() string { return GlobalID("Document", d.Id) }

func (d *Document) Sections() []*Section {
	made := make([]*Section, len(d.Document.Sections))
	for place, section := range d.Document.Sections {
		made[place] = &Section{section}
	}
	return made
}

func (s *Section) Records() []*Record {
	made := make([]*Record, len(s.DocumentSection.Records))
	for place, record := range s.DocumentSection.Records {
		made[place] = &Record{record}
	}
	return made
}

// At returns when it was measured, nil if that is not known.
func (r *Record) At() *string {
	if r.DocumentRecord.At == nil {
		return nil
	}
	text := moment(r.DocumentRecord.At)
	return &text
}

// MarshalLong writes a whole number of 64 bits as a JSON number.
func MarshalLong(value int64) graphql.Marshaler { return graphql.MarshalInt64(value) }

// UnmarshalLong reads a whole number of 64 bits.
func UnmarshalLong(value any) (int64, error) {
	switch value := value.(type) {
	case int64:
		return value, nil
	case json.Number:
		if number, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return number, nil
		}
	}
	return 0, fmt.Errorf("%v is not a Long; whole numbers from -2^63 to 2^63 - 1 are valid", value)
}
