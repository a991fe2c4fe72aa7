package database

import "testing"

func TestConnectionsAreNotReplacedByAge(t *testing.T) {
	c, err := configure("postgresql://role:password@127.0.0.1/shop", 8)
	if err != nil || c.MaxConnLifetime != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
}
