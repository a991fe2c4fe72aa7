package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/attack"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/session"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
)

const (
	defaultTimeout     = 5 * time.Second
	defaultConnections = 4
	prepareTimeout     = 15 * time.Second
)

type common struct {
	tapePath, targetPath, out string
	shard                     tape.Shard
	connections               int
	timeout                   time.Duration
}

func (c *common) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.tapePath, "tape", "", `tape file, made by "shopload tape"; may be compressed with gzip`)
	flags.StringVar(&c.targetPath, "target", "", "target file (JSON) with the entries of the topology")
	c.shard = tape.Whole
	flags.IntVar(&c.connections, "connections", 0,
		"number of client connections, and with HTTP/1.1 also of requests in flight (default: the target's, else "+strconv.Itoa(defaultConnections)+")")
	flags.DurationVar(&c.timeout, "timeout", defaultTimeout, "time limit of one journey, from its start, unless the target sets one")
}

type setup struct {
	tape   *tape.Tape
	target target.Target
	runner *attack.Runner
}

// read reads the tape, the target and the signing key; every error is bad input.
func (c *common) read(cmd *cobra.Command) (setup, error) {
	s, err := c.load(cmd)
	if err != nil {
		return setup{}, badInput{err}
	}
	return s, nil
}

func (c *common) load(cmd *cobra.Command) (s setup, err error) {
	if err := requireFlags(cmd, "tape", "target"); err != nil {
		return s, err
	}
	if cmd.Flags().Changed("connections") && (c.connections < 1 || c.connections > target.MaxConnections) {
		return s, fmt.Errorf("--connections %d is not between 1 and %d", c.connections, target.MaxConnections)
	}
	if c.timeout <= 0 {
		return s, fmt.Errorf("--timeout %v is not above 0", c.timeout)
	}
	whole, err := tape.Read(c.tapePath)
	if err != nil {
		return s, err
	}
	if s.tape, err = whole.Shard(c.shard); err != nil {
		return s, err
	}
	if s.target, err = target.Read(c.targetPath); err != nil {
		return s, err
	}
	if s.tape.Header.Steps != "" && s.target.Steps == "" {
		return s, fmt.Errorf("tape %s was made from steps, and target %s is the shop; make a tape from a workload", c.tapePath, c.targetPath)
	}
	if !cmd.Flags().Changed("timeout") {
		c.timeout = cmp.Or(s.target.Timeout(), c.timeout)
	}
	if s.runner, err = attack.NewRunner(s.target, s.tape.Entries); err != nil {
		return s, err
	}
	if s.runner.Sessions, err = sessions(s); err != nil {
		return s, err
	}
	c.connections = c.shard.Share(cmp.Or(c.connections, s.target.Connections, defaultConnections))
	if s.runner.Client, err = exchange.NewClient(s.target, c.connections); err != nil {
		return s, err
	}
	s.runner.Scale = s.tape.Header.Scale
	s.runner.Timeout = c.timeout
	return s, nil
}

// sessions opens the customers' sessions; for another target, it only checks that the tape is of the target's steps.
func sessions(s setup) (*session.Sessions, error) {
	if steps := s.runner.Steps; steps != nil {
		if s.tape.Header.Steps != steps.SHA256 {
			return nil, fmt.Errorf("tape %s was not made from the steps in %s; make it again", s.tape.SHA256, steps.File)
		}
		return nil, nil
	}
	key, err := session.ReadKey(s.target.JWTPrivateKey)
	if err != nil {
		return nil, err
	}
	return session.Open(key, s.tape.Entries, time.Now())
}

func (s setup) prepare(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	err := s.runner.Prepare(limited, s.tape.Entries)
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
