// Package cli is the command line of shopload.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"hopwise/load/internal/jsonline"
	"hopwise/load/internal/steps"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitBadInput    = 2
	exitInterrupted = 130
)

const about = `shopload sends the journeys of simulated customers to a shop, whatever its topology.

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted. Journeys that fail are results, not errors.`

// gcPercent trades memory for fewer garbage collections, because journeys wait during a collection.
const gcPercent = 400

// badInput marks errors that the user can fix by changing the input.
type badInput struct{ error }

func (b badInput) Unwrap() error { return b.error }

var errInterrupted = errors.New("interrupted; what was measured until then is marked incomplete")

func Execute(args []string, stdout io.Writer, stderr *os.File) int {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, release) // a second signal ends the program at once
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	root := newRoot(stderr)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "shopload:", oneLine(err))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var bad badInput
	var mistake steps.Mistake
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &bad), errors.As(err, &mistake):
		return exitBadInput
	}
	return exitFailed
}

func newRoot(stderr *os.File) *cobra.Command {
	root := &cobra.Command{
		Use:           "shopload",
		Short:         "Sends the journeys of simulated customers to a shop",
		Long:          about,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return badInput{fmt.Errorf("unknown command %q; commands: tape, sample, replay, watch, node, merge, echo, link, max, hold", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return badInput{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.PersistentFlags().Bool("json", false, "print the result as one JSON object on stdout")
	root.AddCommand(newTape(), newSample(stderr), newReplay(stderr), newWatch(stderr), newNode(stderr), newMerge(), newHold(), newEcho(), newLink(), newMax())
	for _, command := range root.Commands() {
		command.Args = noArguments
	}
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badInput{fmt.Errorf("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())}
	}
	return nil
}

// requireFlags returns an error of type badInput that names the first empty flag.
func requireFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if cmd.Flag(name).Value.String() == "" {
			return badInput{fmt.Errorf("--%s is missing; see %s --help", name, cmd.CommandPath())}
		}
	}
	return nil
}

func wantsJSON(cmd *cobra.Command) bool {
	wanted, _ := cmd.Flags().GetBool("json")
	return wanted
}

func printJSON(w io.Writer, value any) error {
	return jsonline.NewEncoder(w).Encode(value)
}

// oneLine returns the error's message in a form that is safe for a terminal, because it may quote arbitrary files.
func oneLine(err error) string {
	var line strings.Builder
	for _, r := range strings.Join(strings.Fields(err.Error()), " ") {
		if unicode.IsPrint(r) {
			line.WriteRune(r)
		} else {
			line.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return line.String()
}
