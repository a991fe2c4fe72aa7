package journey

import (
	"fmt"
	"reflect"
	"strings"

	"hopwise/load/internal/outcome"
)

// complete returns a wrong_answer that names the first field without a value.
//
// Nothing in an answer to the seeded data is ever zero, empty or null (stock of products that are read stays above 0), so
// a zero value always means that a field is missing, null or empty on the wire.
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
			if gap := firstGap(v.Field(i)); gap != "" {
				return "." + fieldName(v.Type().Field(i)) + strings.TrimSuffix(gap, ".")
			}
		}
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
