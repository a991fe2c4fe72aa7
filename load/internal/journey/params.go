package journey

import (
	"fmt"
	"reflect"
	"strings"

	"hopwise/load/internal/shop"
)

// Params are the parameters of one journey; which of them are set depends on the journey.
type Params struct {
	Category       string        `json:"category,omitempty"`
	ProductID      int64         `json:"product_id,omitempty"`
	DocumentID     int64         `json:"document_id,omitempty"`
	UserID         int64         `json:"user_id,omitempty"`
	OrderID        int64         `json:"order_id,omitempty"`
	AfterLineID    *int64        `json:"after_line_id,omitempty"` // a pointer because 0 is a position too
	Lines          []shop.Item   `json:"lines,omitempty"`
	IdempotencyKey string        `json:"idempotency_key,omitempty"`
	Address        *shop.Address `json:"address,omitempty"`
}

// fieldOf is the place of each parameter in Params, by its name on the tape.
var fieldOf = func() map[string]int {
	places := map[string]int{}
	params := reflect.TypeFor[Params]()
	for i := range params.NumField() {
		name, _, _ := strings.Cut(params.Field(i).Tag.Get("json"), ",")
		places[name] = i
	}
	return places
}()

// Check returns an error that names the first parameter which the journey needs and does not have.
func (p Params) Check(n Name) error {
	for _, name := range byName[n].needs {
		if value := reflect.ValueOf(p).Field(fieldOf[name]); !given(value) {
			return fmt.Errorf("journey %q needs the parameter %q", n, name)
		}
	}
	return nil
}

// given says whether a parameter is there; identifiers count from 1.
func given(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Int64:
		return value.Int() >= 1
	case reflect.Slice:
		return value.Len() > 0
	}
	return !value.IsZero()
}
