package rpc

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/stubs/orderv1"
	"hopwise/load/internal/stubs/paymentv1"
	"hopwise/load/internal/stubs/productv1"
	"hopwise/load/internal/stubs/typev1"
)

// The messages of the contract in canonical form. A message that is missing becomes an empty value, which the check of the
// answer reports.

func money(m *typev1.Money) answer.Money {
	return answer.Money{AmountMinor: m.GetAmountMinor(), Currency: m.GetCurrency()}
}

func address(a *typev1.Address) journey.Address {
	return journey.Address{
		City: a.GetCity(), CountryCode: a.GetCountryCode(), PostalCode: a.GetPostalCode(), Recipient: a.GetRecipient(), Street: a.GetStreet(),
	}
}

func addressOf(a journey.Address) *typev1.Address {
	return &typev1.Address{
		City: a.City, CountryCode: a.CountryCode, PostalCode: a.PostalCode, Recipient: a.Recipient, Street: a.Street,
	}
}

func instant(t *timestamppb.Timestamp) string {
	if t.GetSeconds() == 0 || t.GetNanos() != 0 {
		return ""
	}
	return answer.Instant(t.AsTime().Format(time.RFC3339))
}

func orderStatusName(s orderv1.OrderStatus) string {
	return strings.TrimPrefix(s.String(), "ORDER_STATUS_")
}

func paymentStatus(s paymentv1.PaymentStatus) string {
	return strings.TrimPrefix(s.String(), "PAYMENT_STATUS_")
}

func sorted(lines []*orderv1.OrderLine) []*orderv1.OrderLine {
	slices.SortFunc(lines, func(a, b *orderv1.OrderLine) int { return cmp.Compare(a.LineNumber, b.LineNumber) })
	return lines
}

func browsed(products []*productv1.Product, reviews map[int64][]*productv1.Review) *answer.Browse {
	a := &answer.Browse{Products: make([]answer.BrowsedProduct, 0, len(products))}
	for _, p := range products {
		found := make([]answer.Review, 0, len(reviews[p.Id]))
		for _, r := range reviews[p.Id] {
			found = append(found, answer.Review{ID: r.Id, Rating: int64(r.Rating), Title: r.Title})
		}
		a.Products = append(a.Products, answer.BrowsedProduct{
			ID: p.Id, Price: money(p.Price), Reviews: found, Stock: p.Stock, Title: p.Title,
		})
	}
	return a
}

func history(orders []*orderv1.Order, titles, paid map[int64]string) *answer.OrderHistory {
	a := &answer.OrderHistory{Orders: make([]answer.HistoryOrder, 0, len(orders))}
	for _, o := range orders {
		lines := make([]answer.HistoryLine, 0, len(o.Lines))
		for _, l := range sorted(o.Lines) {
			lines = append(lines, answer.HistoryLine{
				ProductID: l.ProductId, Quantity: int64(l.Quantity), Title: titles[l.ProductId], UnitPrice: money(l.UnitPrice),
			})
		}
		a.Orders = append(a.Orders, answer.HistoryOrder{
			ID: o.Id, Lines: lines, PaymentStatus: paid[o.Id], PlacedAt: instant(o.CreateTime),
			Status: orderStatusName(o.Status), Total: money(o.Total),
		})
	}
	return a
}

func statusOf(o *orderv1.Order, payments []*paymentv1.Payment) *answer.OrderStatus {
	a := &answer.OrderStatus{ID: o.Id, Status: orderStatusName(o.Status), Total: money(o.Total)}
	for _, p := range payments {
		if p.OrderId == o.Id {
			a.Payment = answer.Payment{Amount: money(p.Amount), Status: paymentStatus(p.Status)}
		}
	}
	return a
}
