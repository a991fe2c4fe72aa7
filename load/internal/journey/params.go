package journey

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"hopwise/load/internal/draw"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/steps"
)

// Params are the parameters of one journey; the journey determines which of them are set.
type Params struct {
	Category       string        `json:"category,omitempty"`
	ProductID      int64         `json:"product_id,omitempty"`
	DocumentID     int64         `json:"document_id,omitempty"`
	UserID         int64         `json:"user_id,omitempty"`
	OrderID        int64         `json:"order_id,omitempty"`
	AfterLineID    *int64        `json:"after_line_id,omitempty"` // a pointer, because 0 is valid
	Lines          []shop.Item   `json:"lines,omitempty"`
	IdempotencyKey string        `json:"idempotency_key,omitempty"`
	Address        *shop.Address `json:"address,omitempty"`
	Values         steps.Values  `json:"values,omitempty"` // variables of a target other than the shop
}

// fieldOf has the index of each parameter's field in Params, by the parameter's name on the tape.
var fieldOf = func() map[string]int {
	places := map[string]int{}
	params := reflect.TypeFor[Params]()
	for i := range params.NumField() {
		name, _, _ := strings.Cut(params.Field(i).Tag.Get("json"), ",")
		places[name] = i
	}
	return places
}()

func (p Params) Check(n Name) error {
	for _, name := range byName[n].needs {
		if value := reflect.ValueOf(p).Field(fieldOf[name]); !given(value) {
			return fmt.Errorf("journey %q needs the parameter %q", n, name)
		}
	}
	return nil
}

// given tells whether a parameter is set; identifiers count from 1.
func given(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Int64:
		return value.Int() >= 1
	case reflect.Slice:
		return value.Len() > 0
	}
	return !value.IsZero()
}

// Drawer draws the parameters of journeys, with a separate stream of random numbers for each journey.
type Drawer struct {
	scale      shopdata.Scale
	pool       shopdata.Pool
	identity   string
	streams    map[Name]draw.Source
	categories draw.Popularity
	products   draw.Popularity
	documents  shopdata.Range
}

// NewDrawer returns a drawer for a tape with documents of the payload's size; identity has all inputs of the tape.
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

// Draw returns the parameters of the journey at a place on the tape. The journey must exist.
func (d *Drawer) Draw(name Name, seq int64) Params {
	return byName[name].draw(dice{Source: d.streams[name], Drawer: d, seq: seq})
}

type dice struct {
	draw.Source
	*Drawer
	seq int64
}

// idempotencyKey derives a key from all inputs of the tape, so that a warm-up never has the same keys as a trial.
func (d dice) idempotencyKey() string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s#%d", d.identity, d.seq))
	return fmt.Sprintf("%x-%x-%x-%x-%x", digest[0:4], digest[4:6], digest[6:8], digest[8:10], digest[10:16])
}
