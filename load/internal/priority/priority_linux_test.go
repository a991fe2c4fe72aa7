package priority

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A process cannot restore its earlier priority, so each case runs in a separate process.
const asked = "HOPWISE_TEST_PRIORITY"

func TestMain(m *testing.M) {
	wish := Wish(os.Getenv(asked))
	if wish == "" {
		os.Exit(m.Run())
	}
	granted, err := Apply(wish)
	has, getErr := unix.SchedGetAttr(0, 0)
	if err != nil || getErr != nil {
		os.Exit(1)
	}
	switch granted {
	case Realtime:
		exitIf(has.Policy == unix.SCHED_RR)
	case Prompt:
		exitIf(has.Policy == unix.SCHED_NORMAL && has.Runtime == uint64(slice))
	default:
		exitIf(has.Policy == unix.SCHED_NORMAL)
	}
}

func exitIf(asItSays bool) {
	if asItSays {
		os.Exit(0)
	}
	os.Exit(2)
}

func TestReportedPriorityIsTheProcesss(t *testing.T) {
	for _, wish := range wishes {
		t.Run(string(wish), func(t *testing.T) {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), asked+"="+string(wish))
			err := child.Run()
			var ended *exec.ExitError
			if errors.As(err, &ended) && ended.ExitCode() == 1 && (wish == Prompt || wish == Realtime) {
				t.Skipf("priority %s is not possible on this system", wish)
			}
			if err != nil {
				t.Errorf("the process does not have the priority that it says: %v", err)
			}
		})
	}
}
