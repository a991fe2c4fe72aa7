package graph

import (
	"encoding/base64"
	"regexp"
	"strconv"

	"hopwise/services/internal/shoperr"
)

var globalForm = regexp.MustCompile(`^(\pL+):([0-9]{1,18})$`)

// GlobalID returns Relay's identifier: base64 of the type's name and the service's id, "Product:12".
func GlobalID(kind string, number int64) string {
	return base64.StdEncoding.EncodeToString(strconv.AppendInt([]byte(kind+":"), number, 10))
}

// SplitID returns the type's name and the service's id that a global identifier stands for.
func SplitID(value, field string) (kind string, number int64, err error) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(value)
	parts := globalForm.FindSubmatch(decoded)
	if err != nil || parts == nil {
		return "", 0, shoperr.Invalid(field,
			"%s '%.80s' is not a global identifier; use one from an `id` field of this API", field, value)
	}
	number, err = strconv.ParseInt(string(parts[2]), 10, 64)
	return string(parts[1]), number, err
}

// Number returns the service's id, at least 1, that a global identifier of one type stands for.
func Number(value, kind, field string) (int64, error) {
	given, number, err := SplitID(value, field)
	if err == nil && (given != kind || number < 1) {
		err = shoperr.Invalid(field,
			"%s '%.80s' identifies %s:%d; an id of a %s is needed", field, value, given, number, kind)
	}
	return number, err
}
