package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSecretsLieInFilesThatAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "product-url")
	if err := os.WriteFile(path, []byte("postgresql://product@database/shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": "127.0.0.1:0", "SHOP_DATABASE_URL_FILE": path,
	}
	read := func() (Config, error) {
		return Read("product", Kind{Listen: "SHOP_LISTEN_GRPC", Database: true}, func(name string) string { return env[name] })
	}
	c, err := read()
	if err != nil || c.DatabaseURL != "postgresql://product@database/shop" {
		t.Errorf("read %q, %v", c.DatabaseURL, err)
	}
	env["SHOP_DATABASE_URL_FILE"] = path + ".gone"
	if _, err := read(); err == nil || err.Error()[:22] != "SHOP_DATABASE_URL_FILE" {
		t.Errorf("a file that is not there: %v", err)
	}
}
