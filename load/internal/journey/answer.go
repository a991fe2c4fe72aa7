package journey

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

// Answer is the canonical answer of one journey, in which all protocols must agree.
//
// Fields are declared by ascending JSON name, so that encoding the struct gives sorted keys.
type Answer interface {
	// check says what is wrong with the answer to the journey asked for; its fields are known to be complete.
	check(q Question) error
}

// Question is what was asked: a journey's parameters, and the scale of the data that it was asked of.
type Question struct {
	Params Params
	Scale  shopdata.Scale
}

// Check returns a wrong_answer that says what is wrong with the answer to the question, or nil.
func Check(q Question, a Answer) error {
	if _, checked := a.(stepsAnswer); checked {
		return nil
	}
	if err := complete(a); err != nil {
		return err
	}
	return a.check(q)
}

// Canonical returns the canonical JSON of an answer: sorted keys, no spaces, UTF-8 unescaped.
func Canonical(a Answer) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// Digest returns the SHA-256 of canonical JSON, hexadecimal.
func Digest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func checkID(what string, got, want int64) error {
	if got != want {
		return outcome.Wrong("the answer is %s %d instead of %d", what, got, want)
	}
	return nil
}

var (
	orderStatuses   = []string{"PENDING", "CONFIRMED", "SHIPPED", "DELIVERED", "CANCELLED", "FAILED"}
	paymentStatuses = []string{"AUTHORIZED", "CAPTURED", "VOIDED", "DECLINED"}
)

func checkStatuses(order, payment string) error {
	if !slices.Contains(orderStatuses, order) {
		return outcome.Wrong("unknown order status %q", order)
	}
	if !slices.Contains(paymentStatuses, payment) {
		return outcome.Wrong("unknown payment status %q", payment)
	}
	return nil
}

// complete returns a wrong_answer that names the first field without a value.
//
// Nothing in an answer to the seeded data is ever zero, empty or null (stock of products that are read stays above 0), so
// a zero value always means that a field is missing, null or empty on the wire. Only a truth value may be false, and what the
// canonical form leaves out may be absent.
func complete(a Answer) error {
	if path := firstGap(reflect.ValueOf(a)); path != "" {
		return outcome.Wrong("the answer has no %s", strings.TrimPrefix(path, "."))
	}
	return nil
}

func firstGap(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "."
		}
		return firstGap(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if v.Field(i).IsZero() && strings.HasSuffix(field.Tag.Get("json"), ",omitempty") {
				continue
			}
			if gap := firstGap(v.Field(i)); gap != "" {
				return "." + fieldName(field) + strings.TrimSuffix(gap, ".")
			}
		}
		return ""
	case reflect.Bool:
		return ""
	case reflect.Slice:
		for i := range v.Len() {
			if gap := firstGap(v.Index(i)); gap != "" {
				return fmt.Sprintf("[%d]%s", i, gap)
			}
		}
		return ""
	}
	if v.IsZero() {
		return "."
	}
	return ""
}

func fieldName(f reflect.StructField) string {
	if name := f.Tag.Get("json"); name != "-" {
		return name
	}
	return "order id"
}
