package tape

import (
	"fmt"

	"hopwise/load/internal/draw"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/steps"
	"hopwise/load/internal/target"
	"hopwise/load/internal/workload"
)

type rows struct {
	plan     *steps.Plan
	identity string
	taken    map[string]int64 // by table
	streams  map[string]draw.Source
	tables   map[journey.Name]string
}

func newRows(plan *steps.Plan, seed uint64, identity string) *rows {
	r := &rows{plan: plan, identity: identity, taken: map[string]int64{}, streams: map[string]draw.Source{}, tables: map[journey.Name]string{}}
	for name := range plan.Tables {
		r.streams[name] = draw.NewSource("rows:"+name, seed)
	}
	for _, one := range plan.Journeys {
		r.tables[journey.Name(one.Name)] = one.Table
	}
	return r
}

// draw returns the parameters of the journey with this number, including its row's variables if it takes a row.
func (r *rows) draw(name journey.Name, seq int64) journey.Params {
	row := steps.Values{}
	if of := r.tables[name]; of != "" {
		table := r.plan.Tables[of]
		count := int64(len(table.Rows))
		place := r.taken[of] % count
		if table.Take == steps.Random {
			place = r.streams[of].Below(count)
		}
		r.taken[of]++
		for i, column := range table.Columns {
			row[column] = table.Rows[place][i]
		}
	}
	return journey.DrawRow(r.identity, seq, row)
}

// check returns an error that names a table with too few rows; nil if all tables have enough rows.
func (r *rows) check() error {
	if r == nil {
		return nil
	}
	for name, table := range r.plan.Tables {
		if there := int64(len(table.Rows)); table.Take == steps.Once && r.taken[name] > there {
			return fmt.Errorf("%s: tables.%s: the variables run out: %s has %d rows, and the journeys of this tape take %d; give more rows, a lower rate or duration, or take: again",
				r.plan.File, name, table.File, there, r.taken[name])
		}
	}
	return nil
}

// WorkloadOf returns the workload that the steps of a target define.
func WorkloadOf(plan *steps.Plan) (workload.Workload, error) {
	return workload.ParseFor(plan.File, plan.Workload, func(name journey.Name, channel target.Channel) error {
		if !plan.Has(string(name)) {
			return fmt.Errorf("the mix has the journey %q, which has no steps", name)
		}
		return channel.Check()
	})
}
