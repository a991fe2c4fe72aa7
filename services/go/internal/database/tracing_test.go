package database

import "testing"

// The instrument compares statements of all implementations by these names.
func TestStatementsAreNamedByOperationAndTable(t *testing.T) {
	for sql, want := range map[string]string{
		"begin":                                "BEGIN",
		"commit":                               "COMMIT",
		"SELECT id FROM product WHERE id = $1": "SELECT product",
		"SELECT first.id\nFROM unnest($1) AS wanted CROSS JOIN (SELECT * FROM review) AS first": "SELECT review",
		"SELECT id FROM product ORDER BY id FOR UPDATE":                                         "SELECT product",
		"INSERT INTO reservation (id) VALUES ($1) ON CONFLICT (id) DO NOTHING":                  "INSERT reservation",
		"WITH moved AS (UPDATE reservation SET state = $2) UPDATE product SET stock = 1":        "UPDATE product",
		"WITH line AS (SELECT * FROM unnest($2)) INSERT INTO reservation_line SELECT 1":         "INSERT reservation_line",
		"DELETE FROM product WHERE id = $1":                                                     "DELETE product",
	} {
		if _, got := named(sql); got != want {
			t.Errorf("%q is named %q, want %q", sql, got, want)
		}
	}
}
