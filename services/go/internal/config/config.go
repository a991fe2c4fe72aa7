// Package config has the settings of one process, read once from its environment.
package config

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Exit codes of a process.
const (
	Failed       = 1 // something that it needs is not available
	WrongSetting = 2
)

const (
	// DefaultPageTokenKey is no secret: it keeps clients from building page tokens of their own.
	DefaultPageTokenKey = "hopwise page tokens"

	contract    = "1" // the version of docs/system/your-component.md
	unixScheme  = "unix:"
	longestPath = 107 // of a Unix domain socket
	defaultPool = 8
)

// unserved are what other implementations of a component may be asked for, and these cannot do.
var unserved = []string{
	"SHOP_LISTEN_REST", "SHOP_LISTEN_GRAPHQL", "SHOP_LISTEN_THRIFT", "SHOP_LISTEN_THRIFT_ENTRANCE", "SHOP_LISTEN_THRIFT_JSON",
	"SHOP_LISTEN_METRICS", "SHOP_CACHE_URL", "SHOP_ADMISSION", "SHOP_HOLD_US", "SHOP_PEER_NOTIFICATION",
}

// Kind is what a component serves, and needs for it.
type Kind struct {
	Listen   string   // the variable that says where
	Database bool     // whether it has one
	Peers    []string // the services that it calls; one that calls some checks every caller's token
}

// Peer is a service to call.
type Peer struct {
	Addresses []string // host:port of each replica
	Socket    string   // path of a socket to connect in their place; empty for none
}

// Config is what the environment says.
type Config struct {
	Component       string
	Instance        string
	Network, Listen string // as net.Listen takes them
	DatabaseURL     string
	DatabasePool    int32
	Traced          bool // whether spans go to a collector, whose address OpenTelemetry's SDK reads itself
	TelemetryFile   string
	Topology        string
	Trial           string
	PublicKeyFile   string
	EdgeIdentity    string
	Delay           time.Duration
	ConnectionAge   time.Duration
	PageTokenKey    []byte
	AwaitStdin      bool
	Peers           map[string]Peer
}

// Error is a setting that is missing or wrong; its text names the variable and the valid values.
type Error string

func (e Error) Error() string { return string(e) }

// Read reads the settings of a component; empty variables count as absent.
func Read(component string, kind Kind, getenv func(string) string) (Config, error) {
	r := reader{getenv: getenv}
	c := Config{
		Component:     r.choice("SHOP_COMPONENT", "", component, component+"-canary"),
		Instance:      getenv("SHOP_INSTANCE"),
		DatabasePool:  int32(r.whole("SHOP_DATABASE_POOL", defaultPool, 1, 200)),
		Traced:        getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "",
		Topology:      getenv("SHOP_TOPOLOGY"),
		Trial:         getenv("SHOP_TRIAL"),
		PublicKeyFile: getenv("SHOP_JWT_PUBLIC_KEY_FILE"),
		EdgeIdentity:  getenv("SHOP_EDGE_IDENTITY"),
		Delay:         time.Duration(r.whole("SHOP_DELAY_US", 0, 0, 1_000_000)) * time.Microsecond,
		ConnectionAge: time.Duration(r.whole("SHOP_CONNECTION_AGE_S", 0, 0, 3_600)) * time.Second,
		PageTokenKey:  []byte(or(r.secret("SHOP_PAGE_TOKEN_KEY"), DefaultPageTokenKey)),
		AwaitStdin:    r.choice("SHOP_AWAIT_STDIN", "off", "off", "on") == "on",
	}
	c.Network, c.Listen = r.address(kind.Listen)
	if kind.Database {
		c.DatabaseURL = r.secret("SHOP_DATABASE_URL")
		if c.DatabaseURL == "" {
			r.fail("SHOP_DATABASE_URL is not set; set it, for example " +
				"SHOP_DATABASE_URL=postgresql://role:password@127.0.0.1:18060/shop_trial")
		}
	}
	if kind.Peers != nil {
		r.required("SHOP_JWT_PUBLIC_KEY_FILE", "keys/jwt-public.pem")
		r.choice("SHOP_GRAPHQL_LOADERS", "on", "on")
		c.Peers = r.peers(kind.Peers)
	}
	if folder := getenv("SHOP_TELEMETRY_FOLDER"); folder != "" {
		c.TelemetryFile = filepath.Join(folder, or(c.Instance, c.Component)+".json")
	}
	r.choice("SHOP_STORE", "postgres", "postgres")
	r.choice("SHOP_CONTRACT", contract, contract)
	for _, name := range unserved {
		if getenv(name) != "" && getenv(name) != "off" && getenv(name) != "0" {
			r.fail("%s is set, and this implementation of %s has nothing of the kind; leave it out", name, component)
		}
	}
	return c, r.err
}

// reader keeps the first error.
type reader struct {
	getenv func(string) string
	err    error
}

func (r *reader) fail(format string, values ...any) {
	if r.err == nil {
		r.err = Error(fmt.Sprintf(format, values...))
	}
}

func (r *reader) required(name, example string) string {
	value := r.getenv(name)
	if value == "" {
		r.fail("%s is not set; set it, for example %s=%s", name, name, example)
	}
	return value
}

// secret reads a setting that may lie in the file that NAME_FILE names.
func (r *reader) secret(name string) string {
	path := r.getenv(name + "_FILE")
	if value := r.getenv(name); value != "" || path == "" {
		return value
	}
	content, err := os.ReadFile(path)
	if err != nil {
		r.fail("%s_FILE is %q, which cannot be read: %v", name, path, err)
	}
	return strings.TrimSpace(string(content))
}

func (r *reader) choice(name, fallback string, valid ...string) string {
	value := or(r.getenv(name), fallback)
	for _, one := range valid {
		if value == one {
			return value
		}
	}
	r.fail("%s is %s; valid: %s", name, or(value, "not set"), strings.Join(valid, ", "))
	return value
}

func (r *reader) whole(name string, fallback, least, most int) int {
	text := r.getenv(name)
	if text == "" {
		return fallback
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < least || number > most {
		r.fail("%s is %q; valid: an integer from %d to %d", name, text, least, most)
	}
	return number
}

func (r *reader) address(name string) (network, address string) {
	text := r.required(name, "127.0.0.1:18020")
	if path, isUnix := strings.CutPrefix(text, unixScheme); isUnix {
		if !filepath.IsAbs(path) || len(path) > longestPath {
			r.fail("%s is %q; the socket's path must be absolute and have at most %d bytes", name, text, longestPath)
		}
		return "unix", path
	}
	host, port, err := net.SplitHostPort(text)
	if _, bad := strconv.ParseUint(port, 10, 16); r.err == nil && (err != nil || host == "" || bad != nil) {
		r.fail("%s is %q; valid: host:port with a port from 0 to 65535, as 127.0.0.1:18020, or unix:/absolute/path.sock",
			name, text)
	}
	return "tcp", text
}

func (r *reader) peers(names []string) map[string]Peer {
	peers := make(map[string]Peer, len(names))
	for _, name := range names {
		variable := "SHOP_PEER_" + strings.ToUpper(name)
		addresses, isGRPC := strings.CutPrefix(r.required(variable, "grpc://127.0.0.1:18020"), "grpc://")
		peer := Peer{Addresses: strings.Split(addresses, ","), Socket: r.getenv("SHOP_SOCKET_" + strings.ToUpper(name))}
		for _, address := range peer.Addresses {
			if _, _, err := net.SplitHostPort(address); !isGRPC || err != nil {
				r.fail("%s is %q; valid: grpc://host:port, with commas between those of replicas", variable, r.getenv(variable))
			}
		}
		peers[name] = peer
	}
	return peers
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
