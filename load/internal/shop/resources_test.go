package shop

import (
	"encoding/json"
	"testing"
)

// Times are whole seconds in UTC; times in other zones are converted, and any other text is not a time.
func TestInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2025-03-04T05:06:07Z":      "2025-03-04T05:06:07Z",
		"2025-03-04T06:06:07+01:00": "2025-03-04T05:06:07Z",
		"2025-03-04T05:06:07.5Z":    "",
		"2025-03-04 05:06:07":       "",
		"":                          "",
	} {
		var got Instant
		if err := json.Unmarshal([]byte(`"`+text+`"`), &got); err != nil || string(got) != want {
			t.Errorf("%q gives %q, expected %q", text, got, want)
		}
	}
}
