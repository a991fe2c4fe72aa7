package journey

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hopwise/load/internal/jsonline"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

// Answer is the canonical answer of one journey, the same in all protocols.
//
// Fields are declared by ascending JSON name, so that encoding the struct gives sorted keys.
type Answer interface {
	// check returns an error if the answer is wrong for the question; no field may be missing.
	check(q Question) error
}

// Question has a journey's parameters and the scale of the data.
type Question struct {
	Params Params
	Scale  shopdata.Scale
}

// Check returns a wrong_answer that describes the mistake in the answer, or nil.
func Check(q Question, a Answer) error {
	if _, checked := a.(stepsAnswer); checked {
		return nil
	}
	if err := complete(a); err != nil {
		return err
	}
	return a.check(q)
}

// Canonical returns the canonical JSON of an answer: with sorted keys, without spaces, and with UTF-8 unescaped.
func Canonical(a Answer) ([]byte, error) { return jsonline.Of(a) }

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
// Answers about the seeded data never have zero, empty or null fields, and the stock stays above 0. So a zero value
// means a missing, null or empty field. Only booleans may be false, and fields without a canonical form may be absent.
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
