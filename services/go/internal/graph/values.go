package graph

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"google.golang.org/protobuf/types/known/timestamppb"

	"hopwise/proto/stubs/productv1"
)

// Document is a technical document.
type Document struct{ *productv1.Document }

func (d *Document) ID() string { return GlobalID("Document", d.Id) }

// MarshalDateTime writes a moment in whole seconds; null if it is not known.
func MarshalDateTime(moment *timestamppb.Timestamp) graphql.Marshaler {
	if moment == nil {
		return graphql.Null
	}
	return graphql.MarshalString(moment.AsTime().Format(time.RFC3339))
}

// UnmarshalDateTime reads a moment; gqlgen requires this function for each scalar.
func UnmarshalDateTime(value any) (*timestamppb.Timestamp, error) {
	moment, err := graphql.UnmarshalTime(value)
	return timestamppb.New(moment), err
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
