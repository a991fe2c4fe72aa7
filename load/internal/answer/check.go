package answer

import (
	"slices"
	"time"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

// Question is what was asked: a journey's parameters, and the scale of the data that it was asked of.
type Question struct {
	Params journey.Params
	Scale  shopdata.Scale
}

var (
	orderStatuses   = []string{"PENDING", "CONFIRMED", "SHIPPED", "DELIVERED", "CANCELLED", "FAILED"}
	paymentStatuses = []string{"AUTHORIZED", "CAPTURED", "VOIDED", "DECLINED"}
)

// Check returns a wrong_answer that says what is wrong with the answer to the question, or nil.
func Check(q Question, a Answer) error {
	if err := complete(a); err != nil {
		return err
	}
	return a.check(q)
}

func (a *Browse) check(q Question) error {
	if len(a.Products) != shopdata.BrowsePage {
		return outcome.Wrong("the page has %d products instead of %d", len(a.Products), shopdata.BrowsePage)
	}
	for i, p := range a.Products {
		if shopdata.CategoryOf(p.ID) != q.Params.Category {
			return outcome.Wrong("product %d is not of category %s", p.ID, q.Params.Category)
		}
		if i > 0 && p.ID <= a.Products[i-1].ID {
			return outcome.Wrong("product %d comes twice", p.ID)
		}
		expected := shopdata.ReviewIDs(p.ID)
		if len(p.Reviews) != len(expected) {
			return outcome.Wrong("product %d has %d reviews instead of %d", p.ID, len(p.Reviews), len(expected))
		}
		for k, review := range p.Reviews {
			if review.ID != expected[k] {
				return outcome.Wrong("product %d has review %d instead of %d", p.ID, review.ID, expected[k])
			}
			if review.Rating < 1 || review.Rating > 5 {
				return outcome.Wrong("review %d has rating %d", review.ID, review.Rating)
			}
		}
	}
	return nil
}

func (a *Product) check(q Question) error {
	if err := sameID("product", a.ID, q.Params.ProductID); err != nil {
		return err
	}
	if want := shopdata.CategoryOf(a.ID); a.Category != want {
		return outcome.Wrong("product %d has category %q instead of %q", a.ID, a.Category, want)
	}
	return nil
}

func (a *Login) check(q Question) error {
	if err := sameID("user", a.ID, q.Params.UserID); err != nil {
		return err
	}
	if want := shopdata.Email(a.ID); a.Email != want {
		return outcome.Wrong("user %d has another e-mail address than the one that logged in", a.ID)
	}
	return nil
}

func (a *OrderHistory) check(q Question) error {
	expected := q.Scale.OrdersOfRegular(q.Params.UserID)
	if len(a.Orders) != len(expected) {
		return outcome.Wrong("the history has %d orders instead of %d", len(a.Orders), len(expected))
	}
	for i, order := range a.Orders {
		if order.ID != expected[i] {
			return outcome.Wrong("place %d of the history is order %d instead of %d", i+1, order.ID, expected[i])
		}
		if len(order.Lines) == 0 {
			return outcome.Wrong("order %d has no lines", order.ID)
		}
		sum := int64(0)
		for _, line := range order.Lines {
			sum += line.Quantity * line.UnitPrice.AmountMinor
		}
		if sum != order.Total.AmountMinor {
			return outcome.Wrong("order %d has total %d, its lines add up to %d", order.ID, order.Total.AmountMinor, sum)
		}
		if err := statuses(order.Status, order.PaymentStatus); err != nil {
			return err
		}
	}
	return nil
}

func (a *Checkout) check(q Question) error {
	if a.Status != "CONFIRMED" {
		return outcome.Wrong("the order has status %q instead of CONFIRMED", a.Status)
	}
	if len(a.Lines) != len(q.Params.Lines) {
		return outcome.Wrong("the order has %d lines instead of %d", len(a.Lines), len(q.Params.Lines))
	}
	sum := int64(0)
	for i, line := range a.Lines {
		if asked := q.Params.Lines[i]; line.ProductID != asked.ProductID || line.Quantity != asked.Quantity {
			return outcome.Wrong("line %d is %d of product %d instead of %d of product %d",
				i+1, line.Quantity, line.ProductID, asked.Quantity, asked.ProductID)
		}
		if line.UnitPrice.Currency != a.Total.Currency {
			return outcome.Wrong("line %d is in %s, the total in %s", i+1, line.UnitPrice.Currency, a.Total.Currency)
		}
		sum += line.Quantity * line.UnitPrice.AmountMinor
	}
	if sum != a.Total.AmountMinor {
		return outcome.Wrong("the total is %d, the lines add up to %d", a.Total.AmountMinor, sum)
	}
	return nil
}

func (a *UpdateProfile) check(q Question) error {
	if err := sameID("user", a.ID, q.Params.UserID); err != nil {
		return err
	}
	if a.Address != *q.Params.Address {
		return outcome.Wrong("user %d has another address than the one sent", a.ID)
	}
	return nil
}

func (a *OrderStatus) check(q Question) error {
	if err := sameID("order", a.ID, q.Params.OrderID); err != nil {
		return err
	}
	if a.Payment.Amount != a.Total {
		return outcome.Wrong("order %d costs %d, its payment is %d", a.ID, a.Total.AmountMinor, a.Payment.Amount.AmountMinor)
	}
	return statuses(a.Status, a.Payment.Status)
}

func (a *BulkLines) check(q Question) error {
	if len(a.Lines) != shopdata.BulkPage {
		return outcome.Wrong("the answer has %d lines instead of %d", len(a.Lines), shopdata.BulkPage)
	}
	for i, line := range a.Lines {
		if want := *q.Params.AfterLineID + int64(i) + 1; line.ID != want {
			return outcome.Wrong("place %d is line %d instead of %d", i+1, line.ID, want)
		}
		if !slices.Contains(orderStatuses, line.Status) {
			return outcome.Wrong("line %d has the unknown order status %q", line.ID, line.Status)
		}
	}
	return nil
}

func sameID(what string, got, want int64) error {
	if got != want {
		return outcome.Wrong("the answer is %s %d instead of %d", what, got, want)
	}
	return nil
}

func statuses(order, payment string) error {
	if !slices.Contains(orderStatuses, order) {
		return outcome.Wrong("unknown order status %q", order)
	}
	if !slices.Contains(paymentStatuses, payment) {
		return outcome.Wrong("unknown payment status %q", payment)
	}
	return nil
}

// Instant returns a time of the wire in canonical form (UTC, whole seconds), empty if the text is no such time.
func Instant(text string) string {
	const canonical = "2006-01-02T15:04:05Z"
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Nanosecond() != 0 {
		return ""
	}
	return at.UTC().Format(canonical)
}
