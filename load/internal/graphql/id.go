package graphql

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// GlobalID returns the global identifier (as in Relay) of the object with this kind and number.
func GlobalID(kind string, id int64) string {
	return base64.StdEncoding.EncodeToString([]byte(kind + ":" + strconv.FormatInt(id, 10)))
}

// ID is a decoded global identifier: the kind and the number of an object.
type ID struct {
	kind   string
	number int64
}

// UnmarshalJSON reads a global identifier, or the plain number that a subgraph sends instead.
func (i *ID) UnmarshalJSON(text []byte) error {
	if number, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*i = ID{"", number}
		return nil
	}
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return err
	}
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("id %q is not a global identifier", encoded)
	}
	kind, digits, _ := strings.Cut(string(plain), ":")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return fmt.Errorf("id %q is not a global identifier", encoded)
	}
	*i = ID{kind, number}
	return nil
}

// Of returns the number if the identifier is of the kind, else 0, which the check of the answer reports as missing.
func (i ID) Of(kind string) int64 {
	if i.kind != "" && i.kind != kind {
		return 0
	}
	return i.number
}
