package record

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"hopwise/load/internal/wire"
)

const childMark = "RECORD_TEST_CHILD"

// The peak is this program's own: a child started by a process that has used much memory does not inherit it.
func TestPeakMemoryIsThisProgramsOwn(t *testing.T) {
	const large = 300 << 20
	if os.Getenv(childMark) != "" {
		os.Stdout.WriteString(strconv.FormatInt(ReadUsage(&wire.Meter{}).MaxRSS, 10) + "\n")
		os.Exit(0)
	}
	ballast := make([]byte, large)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	if own := ReadUsage(&wire.Meter{}).MaxRSS; own < large {
		t.Errorf("the peak is %d bytes with %d in use", own, large)
	}
	child := exec.Command(os.Args[0], "-test.run=TestPeakMemoryIsThisProgramsOwn")
	child.Env = append(os.Environ(), childMark+"=1")
	said, err := child.Output()
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.ParseInt(string(said[:len(said)-1]), 10, 64)
	if err != nil || peak <= 0 || peak > large/2 {
		t.Errorf("the child's peak is %s", said)
	}
	ballast[0] = 2
}
