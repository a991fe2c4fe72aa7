package steps

import (
	"strconv"
	"strings"
)

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// at returns the value at a JSON Pointer (RFC 6901), and whether it exists.
func at(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		key := unescape.Replace(token)
		switch v := value.(type) {
		case map[string]any:
			inner, there := v[key]
			if !there {
				return nil, false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) || key != strconv.Itoa(i) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// without removes the value at a pointer; in an array it leaves null, so that other indices stay valid.
func without(value any, pointer string) any {
	if pointer == "" {
		return nil
	}
	last := strings.LastIndex(pointer, "/")
	around, _ := at(value, pointer[:last])
	key := unescape.Replace(pointer[last+1:])
	switch v := around.(type) {
	case map[string]any:
		delete(v, key)
	case []any:
		if _, there := at(v, pointer[last:]); there {
			i, _ := strconv.Atoi(key)
			v[i] = nil
		}
	}
	return value
}
