package attack

import (
	"context"
	"fmt"
	"time"
)

// MaxWait is how far ahead a start instant may be; a later instant is a mistake.
const MaxWait = time.Hour

// monotonic returns a start instant as a time of the monotonic clock, which is never adjusted; zero stays zero.
func monotonic(start time.Time) (time.Time, error) {
	if start.IsZero() {
		return start, nil
	}
	now := time.Now()
	ahead := start.Sub(now)
	switch {
	case ahead < 0:
		return start, fmt.Errorf("the start instant %s passed %v before the generator was ready", start.UTC().Format(time.RFC3339Nano), -ahead)
	case ahead > MaxWait:
		return start, fmt.Errorf("the start instant %s is %v ahead, more than %v", start.UTC().Format(time.RFC3339Nano), ahead, MaxWait)
	}
	return now.Add(ahead), nil
}

func sleep(ctx context.Context, wait time.Duration) {
	if wait <= 0 {
		return
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
