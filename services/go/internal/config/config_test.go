package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, changes map[string]string) (Config, error) {
	t.Helper()
	env := map[string]string{
		"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": "127.0.0.1:0", "SHOP_DATABASE_URL": "postgresql://product@database/shop",
	}
	maps.Copy(env, changes)
	return Read("product", Kind{Listen: []string{"SHOP_LISTEN_GRPC", "SHOP_LISTEN_REST"}, Database: true}, func(name string) string { return env[name] })
}

func TestSettingsAndTheirDefaults(t *testing.T) {
	c, err := read(t, map[string]string{"SHOP_DELAY_US": "1500", "SHOP_INSTANCE": "product-2", "SHOP_TELEMETRY_FOLDER": "/spans"})
	if err != nil || c.DatabasePool != 8 || string(c.PageTokenKey) != "hopwise page tokens" || c.AwaitStdin != "off" {
		t.Errorf("read %+v, %v", c, err)
	}
	if c.Delay != 1500*time.Microsecond || c.ConnectionAge != 0 || c.TelemetryFile != "/spans/product-2.json" {
		t.Errorf("read %+v", c)
	}
}

func TestWrongSettingsAreNamedWithTheValidValues(t *testing.T) {
	for name, row := range map[string][2]string{
		"SHOP_COMPONENT":        {"order", `"order"; valid: product, product-canary`},
		"SHOP_CONTRACT":         {"2", `"2"; valid: 1`},
		"SHOP_AWAIT_STDIN":      {"yes", `"yes"; valid: off, on`},
		"SHOP_DATABASE_POOL":    {"0x10", `"0x10"; valid: an integer from 1 to 200`},
		"SHOP_CONNECTION_AGE_S": {"3601", `"3601"; valid: an integer from 0 to 3600`},
		"SHOP_LISTEN_GRPC":      {"nowhere", "valid: host:port"},
		"SHOP_LISTEN_REST":      {"nowhere", "valid: host:port"},
		"SHOP_LISTEN_GRAPHQL":   {"127.0.0.1:0", "leave it out"},
		"SHOP_DATABASE_URL":     {"", "is not set"},
		"SHOP_CACHE_URL":        {"redis://cache", "leave it out"},
	} {
		if _, err := read(t, map[string]string{name: row[0]}); err == nil ||
			!strings.HasPrefix(err.Error(), name+" ") || !strings.Contains(err.Error(), row[1]) {
			t.Errorf("%s=%s: %v", name, row[0], err)
		}
	}
}

func TestAFileMayContainASetting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "product-url")
	if err := os.WriteFile(path, []byte("postgresql://file@database/shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := read(t, map[string]string{"SHOP_DATABASE_URL": "", "SHOP_DATABASE_URL_FILE": path})
	if err != nil || c.DatabaseURL != "postgresql://file@database/shop" {
		t.Errorf("read %q, %v", c.DatabaseURL, err)
	}
	for _, wrong := range []map[string]string{
		{"SHOP_DATABASE_URL_FILE": path},
		{"SHOP_DATABASE_URL": "", "SHOP_DATABASE_URL_FILE": path + ".gone"},
	} {
		if _, err := read(t, wrong); err == nil || !strings.Contains(err.Error(), "SHOP_DATABASE_URL_FILE") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
