package journey

import "testing"

// Every journey can be drawn, checked and sent, and no two journeys have the same name.
func TestDefinitionsAreWhole(t *testing.T) {
	if len(byName) != len(all) {
		t.Errorf("%d names of %d journeys", len(byName), len(all))
	}
	for _, d := range all {
		if len(d.senders) == 0 || d.draw == nil || d.graphQL == nil || d.composed == nil {
			t.Errorf("%s lacks its senders, its drawing or a plan", d.name)
		}
		for _, name := range d.needs {
			if _, known := fieldOf[name]; !known {
				t.Errorf("%s needs %q, which is not a parameter", d.name, name)
			}
		}
	}
}
