package readmask

import (
	"reflect"
	"strings"
)

// Select returns the mask's fields of a document, or of each document in a list, by their names in JSON.
func (m *Mask) Select(document any) any {
	if m == nil {
		return document
	}
	value := reflect.ValueOf(document)
	if value.Kind() == reflect.Slice {
		return selectIn(value, fields{each: m.fields})
	}
	return selectIn(value, m.fields)
}

func selectIn(value reflect.Value, kept fields) any {
	switch {
	case value.Kind() == reflect.Slice && len(kept[each]) > 0:
		some := make([]any, value.Len())
		for i := range some {
			some[i] = selectIn(value.Index(i), kept[each])
		}
		return some
	case value.Kind() == reflect.Struct && len(kept) > 0:
		some := make(map[string]any, len(kept))
		for i := range value.NumField() {
			name, option, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			if inside, isKept := kept[name]; isKept && (option == "" || !value.Field(i).IsZero()) {
				some[name] = selectIn(value.Field(i), inside)
			}
		}
		return some
	}
	return value.Interface()
}
