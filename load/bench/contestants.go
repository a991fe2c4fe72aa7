package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hopwise/load/internal/echo"
)

const (
	echoBody  = `{"id":1}`
	stopGrace = 5 * time.Second
)

type contestant struct {
	name    string
	measure func(context.Context) (perSecond float64, err error)
}

type tools struct{ vegeta, ghz string }

func findTools(ctx context.Context) (t tools, err error) {
	if t.vegeta, err = tool(ctx, ".", "vegeta"); err != nil {
		return t, err
	}
	t.ghz, err = tool(ctx, "tools", "ghz")
	return t, err
}

func tool(ctx context.Context, module, name string) (string, error) {
	path, err := output(ctx, "go", "-C", module, "tool", "-n", name)
	return strings.TrimSpace(string(path)), err
}

// startEcho starts the echo server as a separate process. It returns a function that stops it, and its addresses.
func startEcho(ctx context.Context, shopload string) (stop func(), at echo.Addresses, err error) {
	command := exec.CommandContext(ctx, shopload, "echo", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
	command.Stderr = os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopGrace
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, at, err
	}
	if err := command.Start(); err != nil {
		return nil, at, err
	}
	stop = func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		stop()
		return nil, at, fmt.Errorf("the echo server did not start: %w", err)
	}
	return stop, at, nil
}

// contest pairs the generator with each tool; both use the same number of connections and of requests in flight.
func contest(s settings, shopload string, t tools, at echo.Addresses, scratch string) []pair {
	users, channels, duration := strconv.Itoa(s.users), strconv.Itoa(s.channels), s.duration.String()
	generator := func(arguments ...string) contestant {
		arguments = append([]string{"max", "--vus", users, "--duration", duration}, arguments...)
		return contestant{"shopload", func(ctx context.Context) (float64, error) {
			var maximum struct{ Rate float64 }
			err := decode(ctx, &maximum, shopload, arguments...)
			return maximum.Rate, err
		}}
	}
	return []pair{
		{
			name:      "HTTP/1.1",
			generator: generator("--url", "http://"+at.HTTP, "--http", "1", "--connections", users),
			contender: contestant{"vegeta", func(ctx context.Context) (float64, error) {
				return vegeta(ctx, t.vegeta, scratch, at.HTTP, duration, users, "-connections", users, "-max-connections", users)
			}},
		},
		{
			name:      "HTTP/2", // vegeta has only one connection over HTTP/2
			generator: generator("--url", "http://"+at.HTTP, "--http", "2", "--connections", "1"),
			contender: contestant{"vegeta", func(ctx context.Context) (float64, error) {
				return vegeta(ctx, t.vegeta, scratch, at.HTTP, duration, users, "-h2c")
			}},
		},
		{
			name:      "gRPC",
			generator: generator("--grpc", at.GRPC, "--connections", channels),
			contender: contestant{"ghz", func(ctx context.Context) (float64, error) {
				var report struct {
					Total  time.Duration  // nanoseconds
					Status map[string]int `json:"statusCodeDistribution"`
					Errors map[string]int `json:"errorDistribution"`
				}
				err := decode(ctx, &report, t.ghz, "--insecure", "--proto", "../proto/shop/product/v1/product.proto", "-i", "../proto",
					"--call", strings.TrimPrefix(echo.Method, "/"), "-d", echoBody, "-c", users, "--connections", channels,
					"-z", duration, "-O", "json", at.GRPC)
				if err == nil && report.Status["OK"] == 0 {
					err = fmt.Errorf("nothing was answered: %v", report.Errors)
				}
				return float64(report.Status["OK"]) / report.Total.Seconds(), err
			}},
		},
	}
}

func vegeta(ctx context.Context, binary, scratch, address, duration, users string, extra ...string) (float64, error) {
	body, hits := filepath.Join(scratch, "body"), filepath.Join(scratch, "hits")
	if err := os.WriteFile(body, []byte(echoBody), 0o600); err != nil {
		return 0, err
	}
	targets := filepath.Join(scratch, "targets")
	text := "POST http://" + address + "/echo\nContent-Type: application/json\n@" + body + "\n"
	if err := os.WriteFile(targets, []byte(text), 0o600); err != nil {
		return 0, err
	}
	arguments := append([]string{
		"attack", "-targets", targets, "-rate", "0", "-workers", users, "-max-workers", users,
		"-duration", duration, "-output", hits,
	}, extra...)
	if _, err := output(ctx, binary, arguments...); err != nil {
		return 0, err
	}
	var report struct {
		Throughput float64
		Success    float64
		Errors     []string
	}
	err := decode(ctx, &report, binary, "report", "-type", "json", hits)
	if err == nil && report.Success < 1 {
		err = fmt.Errorf("%.2f %% were answered: %v", report.Success*100, report.Errors)
	}
	return report.Throughput, err
}

func decode(ctx context.Context, into any, name string, arguments ...string) error {
	text, err := output(ctx, name, arguments...)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func output(ctx context.Context, name string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s: %w", filepath.Base(name), arguments[0], err), errors.New(strings.TrimSpace(stderr.String())))
	}
	return text, nil
}
