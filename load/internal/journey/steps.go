package journey

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"hopwise/load/internal/steps"
	"hopwise/load/internal/target"
)

// stepsAnswer is an answer that the steps of a journey of another target have already checked.
type stepsAnswer struct{ steps.Answer }

func (stepsAnswer) check(Question) error { return nil }

func (e Entry) values() steps.Values {
	values := steps.Values{steps.Seq: strconv.AppendInt(nil, e.Seq, 10)}
	maps.Copy(values, e.Params.Values)
	values[steps.Key], _ = json.Marshal(e.Params.IdempotencyKey)
	return values
}

func DrawRow(identity string, seq int64, row steps.Values) Params {
	return Params{IdempotencyKey: dice{Drawer: &Drawer{identity: identity}, seq: seq}.idempotencyKey(), Values: row}
}

func (d Driver) Pauses(e Entry) time.Duration {
	if d.Protocol != target.Steps {
		return 0
	}
	return d.Steps.Pauses(string(e.Journey), e.values())
}
