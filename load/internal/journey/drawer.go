package journey

import (
	"crypto/sha256"
	"fmt"

	"hopwise/load/internal/draw"
	"hopwise/load/internal/shopdata"
)

// Drawer draws the parameters of journeys, those of each journey from a stream of its own.
type Drawer struct {
	scale      shopdata.Scale
	pool       shopdata.Pool
	identity   string
	streams    map[Name]draw.Source
	categories draw.Popularity
	products   draw.Popularity
	documents  shopdata.Range
}

// NewDrawer returns the drawer of a tape, whose documents are of the payload; identity names all that the tape is made of.
func NewDrawer(seed uint64, scale shopdata.Scale, pool shopdata.Pool, payload shopdata.Payload, identity string) *Drawer {
	d := &Drawer{
		scale:      scale,
		pool:       pool,
		identity:   identity,
		streams:    map[Name]draw.Source{},
		categories: draw.NewPopularity(scale.BrowseCategories()),
		products:   draw.NewPopularity(scale.ReadProducts()),
		documents:  shopdata.Documents(payload),
	}
	for _, name := range Names() {
		d.streams[name] = draw.NewSource("params:"+string(name), seed)
	}
	return d
}

// Draw returns the parameters of the journey at a place on the tape. The journey is known to exist.
func (d *Drawer) Draw(name Name, seq int64) Params {
	return byName[name].draw(dice{Source: d.streams[name], Drawer: d, seq: seq})
}

// dice is what a journey draws its parameters with.
type dice struct {
	draw.Source
	*Drawer
	seq int64
}

// idempotencyKey derives a key from all that the tape is made of, so that a warm-up's keys never meet a trial's.
func (d dice) idempotencyKey() string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s#%d", d.identity, d.seq))
	return fmt.Sprintf("%x-%x-%x-%x-%x", digest[0:4], digest[4:6], digest[6:8], digest[8:10], digest[10:16])
}
