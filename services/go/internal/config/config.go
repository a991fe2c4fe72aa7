// Package config has the settings of one process, read once from its environment.
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"
)

// Exit codes of a process.
const (
	Failed       = 1 // a dependency is not available
	WrongSetting = 2
)

const (
	unixScheme  = "unix:"
	maxUnixPath = 107 // bytes of a Unix domain socket's path
)

// Kind describes what a component serves and needs.
type Kind struct {
	Listen   []string // variables with the addresses to listen on; one of them is enough
	Database bool     // whether it has a database
	Peers    []string // the services that it calls; such a component checks the token of every caller
}

// Peer is a service to call.
type Peer struct {
	Addresses []string // host:port of each replica
	Socket    string   // path of a socket to connect to instead of these addresses; empty for none
}

// Address is an address to listen on, in net.Listen's form.
type Address struct{ Network, Address string }

// Config has the settings from the environment.
type Config struct {
	Component     string        `env:"SHOP_COMPONENT, required"`
	Contract      string        `env:"SHOP_CONTRACT"` // the version of docs/system/your-component.md
	Instance      string        `env:"SHOP_INSTANCE"`
	Store         string        `env:"SHOP_STORE"`
	DatabaseURL   string        `env:"SHOP_DATABASE_URL"`
	DatabasePool  int32         `env:"SHOP_DATABASE_POOL, default=8"`
	Collector     string        `env:"OTEL_EXPORTER_OTLP_ENDPOINT"` // read by OpenTelemetry's SDK; empty for no spans
	TelemetryFile string        `env:"SHOP_TELEMETRY_FOLDER"`       // file for the account of recorded spans; empty for none
	Topology      string        `env:"SHOP_TOPOLOGY"`
	Trial         string        `env:"SHOP_TRIAL"`
	PublicKeyFile string        `env:"SHOP_JWT_PUBLIC_KEY_FILE"`
	EdgeIdentity  string        `env:"SHOP_EDGE_IDENTITY"`
	Loaders       string        `env:"SHOP_GRAPHQL_LOADERS"`
	Delay         time.Duration `env:"SHOP_DELAY_US"`
	ConnectionAge time.Duration `env:"SHOP_CONNECTION_AGE_S"`
	Compression   string        `env:"SHOP_GRPC_COMPRESSION, default=off"`
	// PageTokenKey keeps clients from building page tokens; its default is public.
	PageTokenKey []byte `env:"SHOP_PAGE_TOKEN_KEY, default=hopwise page tokens"`
	AwaitStdin   string `env:"SHOP_AWAIT_STDIN, default=off"`

	Listen map[string]Address // by variable
	Peers  map[string]Peer
}

// rule returns a setting's value in the form that go-envconfig reads, or an error that says which values are valid.
type rule func(string) (string, error)

func rulesOf(component string) map[string]rule {
	return map[string]rule{
		"SHOP_COMPONENT":        choice(component, component+"-canary"),
		"SHOP_CONTRACT":         choice("1"),
		"SHOP_STORE":            choice("postgres"),
		"SHOP_GRAPHQL_LOADERS":  choice("on"),
		"SHOP_AWAIT_STDIN":      choice("off", "on"),
		"SHOP_DATABASE_POOL":    whole(1, 200, ""),
		"SHOP_DELAY_US":         whole(0, 1_000_000, "us"),
		"SHOP_CONNECTION_AGE_S": whole(0, 3_600, "s"),
		"SHOP_GRPC_COMPRESSION": choice("off", "on"),
	}
}

// unserved are settings that only other implementations of a component support.
var unserved = []string{
	"SHOP_LISTEN_REST", "SHOP_LISTEN_GRAPHQL", "SHOP_LISTEN_THRIFT", "SHOP_LISTEN_THRIFT_ENTRANCE", "SHOP_LISTEN_THRIFT_JSON",
	"SHOP_LISTEN_METRICS", "SHOP_CACHE_URL", "SHOP_ADMISSION", "SHOP_HOLD_US", "SHOP_PEER_NOTIFICATION",
}

// Error is a setting that is missing or wrong; its text names the variable and the valid values.
type Error string

func (e Error) Error() string { return string(e) }

// Read reads the settings of a component; empty variables count as absent.
func Read(component string, kind Kind, getenv func(string) string) (Config, error) {
	var c Config
	from := &environment{getenv: getenv}
	rules := rulesOf(component)
	check := func(_ context.Context, name, _, _, value string) (string, bool, error) {
		if rule, isRuled := rules[name]; isRuled {
			read, err := rule(value)
			if err != nil {
				from.fail("%s is %q; valid: %v", name, value, err)
			}
			return read, false, err
		}
		return value, false, nil
	}
	err := envconfig.ProcessWith(context.Background(), &envconfig.Config{
		Target: &c, Lookuper: from, Mutators: []envconfig.Mutator{envconfig.MutatorFunc(check)},
	})
	if err != nil {
		from.fail("%v", err)
		return c, from.err
	}
	c.Listen = from.addresses(kind.Listen)
	if c.TelemetryFile != "" {
		c.TelemetryFile = filepath.Join(c.TelemetryFile, cmp.Or(c.Instance, c.Component)+".json")
	}
	if kind.Database {
		from.require("SHOP_DATABASE_URL", "postgresql://role:password@127.0.0.1:18060/shop_trial")
	}
	if kind.Peers != nil {
		from.require("SHOP_JWT_PUBLIC_KEY_FILE", "keys/jwt-public.pem")
		c.Peers = from.peers(kind.Peers)
	}
	for _, name := range unserved {
		if value := getenv(name); !slices.Contains(kind.Listen, name) && value != "" && value != "off" && value != "0" {
			from.fail("%s is set, and this implementation of %s cannot do that; leave it out", name, component)
		}
	}
	return c, from.err
}

func choice(valid ...string) rule {
	return func(value string) (string, error) {
		if slices.Contains(valid, value) {
			return value, nil
		}
		return "", errors.New(strings.Join(valid, ", "))
	}
}

func whole(least, most int, unit string) rule {
	return func(value string) (string, error) {
		number, err := strconv.Atoi(value)
		if err != nil || number < least || number > most {
			return "", fmt.Errorf("an integer from %d to %d", least, most)
		}
		return strconv.Itoa(number) + unit, nil
	}
}

// environment looks up settings, and keeps the first error.
type environment struct {
	getenv func(string) string
	err    error
}

func (e *environment) fail(format string, values ...any) {
	if e.err == nil {
		e.err = Error(fmt.Sprintf(format, values...))
	}
}

// Lookup returns the value of a setting, or the content of the file that NAME_FILE names.
func (e *environment) Lookup(name string) (string, bool) {
	value, file := e.getenv(name), name+"_FILE"
	if path := e.getenv(file); path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			e.fail("%s is %q, which cannot be read: %v", file, path, err)
		} else if value != "" {
			e.fail("%s and %s are both set; set one of them", name, file)
		}
		value = strings.TrimSpace(string(content))
	}
	return value, value != ""
}

func (e *environment) require(name, example string) string {
	value, isSet := e.Lookup(name)
	if !isSet {
		e.fail("%s is not set; set it, for example %s=%s", name, name, example)
	}
	return value
}

func (e *environment) addresses(names []string) map[string]Address {
	addresses := make(map[string]Address)
	for _, name := range names {
		if text, isSet := e.Lookup(name); isSet {
			addresses[name] = e.address(name, text)
		}
	}
	if len(addresses) == 0 {
		e.fail("%s is not set; set it, for example %s=127.0.0.1:18020", strings.Join(names, " or "), names[0])
	}
	return addresses
}

func (e *environment) address(name, text string) Address {
	if path, isUnix := strings.CutPrefix(text, unixScheme); isUnix {
		if !filepath.IsAbs(path) || len(path) > maxUnixPath {
			e.fail("%s is %q; the socket's path must be absolute and have at most %d bytes", name, text, maxUnixPath)
		}
		return Address{"unix", path}
	}
	host, port, err := net.SplitHostPort(text)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil {
		e.fail("%s is %q; valid: host:port with a port from 0 to 65535, as 127.0.0.1:18020, or unix:/absolute/path.sock",
			name, text)
	}
	return Address{"tcp", text}
}

func (e *environment) peers(names []string) map[string]Peer {
	peers := make(map[string]Peer, len(names))
	for _, name := range names {
		variable := "SHOP_PEER_" + strings.ToUpper(name)
		text := e.require(variable, "grpc://127.0.0.1:18020")
		addresses, isGRPC := strings.CutPrefix(text, "grpc://")
		peer := Peer{Addresses: strings.Split(addresses, ","), Socket: e.getenv("SHOP_SOCKET_" + strings.ToUpper(name))}
		for _, address := range peer.Addresses {
			if _, _, err := net.SplitHostPort(address); !isGRPC || err != nil {
				e.fail("%s is %q; valid: grpc://host:port, with commas between those of replicas", variable, text)
			}
		}
		peers[name] = peer
	}
	return peers
}
