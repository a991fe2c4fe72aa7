package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"hopwise/load/internal/link"
)

// Users and programs get every network with its source; no limit is no number.
func TestNetworks(t *testing.T) {
	code, out, stderr := run(t, "networks", "--json")
	var rows []networkRow
	if err := json.Unmarshal([]byte(out), &rows); code != exitOK || err != nil || len(rows) != len(link.AllNamed()) {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	for _, row := range rows {
		if row.Source == "" || (row.DownMbit == nil) != (row.Name == link.Loopback) || (row.UpMbit == nil) != (row.DownMbit == nil) {
			t.Errorf("%+v", row)
		}
	}
	if _, out, _ := run(t, "networks"); !strings.Contains(out, "loopback  0       no limit") || !strings.Contains(out, "3g        150     1.6          0.768") {
		t.Error(out)
	}
}
