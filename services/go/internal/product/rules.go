package product

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/lists"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/validate"
)

const (
	held      = pb.ReservationState_RESERVATION_STATE_HELD
	confirmed = pb.ReservationState_RESERVATION_STATE_CONFIRMED
	released  = pb.ReservationState_RESERVATION_STATE_RELEASED

	maxLines     = 100
	maxPieces    = 1_000
	maxStock     = 1_000_000_000 // in a request; the column holds far more, so reserved pieces can always be returned
	largestPrice = 1_000_000_000_000

	categoryForm = "1 to 40 lower-case letters, digits or hyphens, as c0042"
)

var (
	category   = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	changeable = []string{"title", "description", "category", "price", "stock"}
)

// change has new values of a product's fields; nil keeps the old value.
type change struct {
	title, description, category, currency *string
	amount, stock                          *int64
}

// changeOf returns the fields that an update names.
func changeOf(p *pb.Product, mask []string) (change, error) {
	var c change
	unknown := len(mask) == 0
	for _, path := range mask {
		switch path {
		case "title":
			c.title = proto.String(p.GetTitle())
		case "description":
			c.description = proto.String(p.GetDescription())
		case "category":
			c.category = proto.String(p.GetCategory())
		case "price":
			c.amount, c.currency = proto.Int64(p.GetPrice().GetAmountMinor()), proto.String(p.GetPrice().GetCurrency())
		case "stock":
			c.stock = proto.Int64(p.GetStock())
		default:
			unknown = true
		}
	}
	if unknown {
		return c, shoperr.Invalid("update_mask",
			"update_mask must name at least one of: %s", strings.Join(changeable, ", "))
	}
	return c, nil
}

// check checks the given fields.
func (c change) check() error {
	var err error
	if c.title != nil {
		err = validate.Text(*c.title, "product.title", 1, 200)
	}
	if err == nil && c.description != nil {
		err = validate.Text(*c.description, "product.description", 0, 4_000)
	}
	if err == nil && c.category != nil {
		err = validate.Matching(*c.category, "product.category", category, categoryForm)
	}
	if err == nil && c.amount != nil {
		err = validate.PositiveMoney(&typev1.Money{AmountMinor: *c.amount, Currency: *c.currency}, "product.price", largestPrice)
	}
	if err == nil && c.stock != nil {
		err = validate.Between(*c.stock, "product.stock", 0, maxStock)
	}
	return err
}

// checkExpected checks that an expected product, if there is one, can be compared with the row.
func checkExpected(expected *pb.Product, id int64) error {
	if expected == nil {
		return nil
	}
	err := validate.Between(expected.Id, "expected.id", id, id)
	if err == nil {
		err = validate.Between(expected.Stock, "expected.stock", 0, math.MaxInt64)
	}
	for _, field := range []struct{ name, value string }{
		{"title", expected.Title}, {"description", expected.Description}, {"category", expected.Category},
		{"price.currency", expected.GetPrice().GetCurrency()},
	} {
		if err == nil {
			err = validate.Text(field.value, "expected."+field.name, 0, 4_000)
		}
	}
	return err
}

// changedSince returns the error for a product that has changed since the caller read it.
func changedSince(id int64) error {
	return shoperr.New(shoperr.PreconditionFailed, "expected",
		"product %d has changed since it was read; read it again", id)
}

func checkLines(lines []*pb.StockLine) error {
	if len(lines) < 1 || len(lines) > maxLines {
		return shoperr.Invalid("lines", "lines has %d entries; it must have 1 to %d", len(lines), maxLines)
	}
	for index, line := range lines {
		err := cmp.Or(validate.Identifier(line.ProductId, productField(index)),
			validate.Between(int64(line.Quantity), quantityField(index), 1, maxPieces))
		if err != nil {
			return err
		}
	}
	return validate.Distinct(lists.Map(lines, (*pb.StockLine).GetProductId), productField)
}

func productField(index int) string  { return fmt.Sprintf("lines[%d].product_id", index) }
func quantityField(index int) string { return fmt.Sprintf("lines[%d].quantity", index) }

// reserve decides whether products have enough stock for all lines; it returns the lines in order of product id,
// with current prices.
func reserve(lines []*pb.StockLine, products []*pb.Product) ([]*pb.ReservedLine, error) {
	byID := make(map[int64]*pb.Product, len(products))
	for _, p := range products {
		byID[p.Id] = p
	}
	reserved := make([]*pb.ReservedLine, len(lines))
	for index, line := range lines {
		p, exists := byID[line.ProductId]
		if !exists {
			return nil, shoperr.New(shoperr.NotFound, productField(index), "product %d does not exist", line.ProductId)
		}
		if p.Stock < int64(line.Quantity) {
			return nil, shoperr.New(shoperr.OutOfStock, quantityField(index),
				"product %d has only %d in stock, %d were requested", line.ProductId, p.Stock, line.Quantity)
		}
		reserved[index] = &pb.ReservedLine{ProductId: line.ProductId, Quantity: line.Quantity, UnitPrice: p.Price}
	}
	slices.SortFunc(reserved, func(one, other *pb.ReservedLine) int { return int(one.ProductId - other.ProductId) })
	return reserved, nil
}

// checkAgain decides whether an existing reservation is the answer to a repeated call.
func checkAgain(reservation *pb.Reservation, lines []*pb.StockLine) error {
	if reservation.State == released {
		return shoperr.New(shoperr.FailedPrecondition, "reservation_id",
			"reservation %s was released; choose a new id", reservation.Id)
	}
	quantities := make(map[int64]int32, len(lines))
	for _, line := range lines {
		quantities[line.ProductId] = line.Quantity
	}
	same := len(reservation.Lines) == len(lines)
	for _, line := range reservation.Lines {
		same = same && quantities[line.ProductId] == line.Quantity
	}
	if !same {
		return shoperr.New(shoperr.FailedPrecondition, "reservation_id",
			"reservation %s holds other lines; choose a new id", reservation.Id)
	}
	return nil
}
