package thriftrpc

import (
	"strings"
	"time"

	"hopwise/load/internal/shop"
	stub "hopwise/load/internal/stubs/shopthrift"
)

// This file has the structs' canonical forms. A missing struct becomes an empty value, which the check reports.

// there returns the value, or an empty value if it is missing.
func there[T any](value *T) *T {
	if value == nil {
		return new(T)
	}
	return value
}

func money(m *stub.Money) shop.Money {
	m = there(m)
	return shop.Money{AmountMinor: m.AmountMinor, Currency: m.Currency}
}

func addressOf(a shop.Address) *stub.Address {
	return &stub.Address{
		City: a.City, CountryCode: a.CountryCode, PostalCode: a.PostalCode, Recipient: a.Recipient, Street: a.Street,
	}
}

func instant(t *stub.Timestamp) shop.Instant {
	if there(t).Seconds == 0 {
		return ""
	}
	return shop.InstantOf(time.Unix(t.Seconds, 0))
}

func orderStatus(s stub.OrderStatus) string { return strings.TrimPrefix(s.String(), "ORDER_STATUS_") }

func product(p *stub.Product) shop.Product {
	p = there(p)
	return shop.Product{
		ID: p.ID, Title: p.Title, Description: p.Description, Category: p.Category, Price: money(p.Price), Stock: p.Stock,
	}
}

func reviewedProduct(p *stub.ReviewedProduct) shop.Product {
	p = there(p)
	return shop.Product{
		ID: p.ID, Title: p.Title, Description: p.Description, Category: p.Category, Price: money(p.Price), Stock: p.Stock,
		Reviews: shop.Mapped(p.Reviews, review),
	}
}

func section(s *stub.DocumentSection) shop.DocumentSection {
	return shop.DocumentSection{Title: s.Title, Records: shop.Mapped(s.Records, record)}
}

func record(r *stub.DocumentRecord) shop.DocumentRecord {
	made := shop.DocumentRecord{At: instant(r.At), Count: r.Count, OK: r.Ok, Text: r.Text, Value: r.Value}
	if r.Price != nil {
		price := money(r.Price)
		made.Price = &price
	}
	return made
}

func review(r *stub.Review) shop.Review {
	return shop.Review{ID: r.ID, Rating: int64(r.Rating), Title: r.Title}
}

func user(u *stub.User) shop.User {
	u = there(u)
	a := there(u.Address)
	return shop.User{ID: u.ID, Email: u.Email, Name: u.Name, Address: shop.Address{
		City: a.City, CountryCode: a.CountryCode, PostalCode: a.PostalCode, Recipient: a.Recipient, Street: a.Street,
	}}
}

func order(o *stub.Order) shop.Order {
	o = there(o)
	return shop.Order{
		ID: o.ID, UserID: o.UserID, Status: orderStatus(o.Status), PlacedAt: instant(o.CreateTime), Total: money(o.Total),
		Lines: shop.Mapped(o.Lines, orderLine),
	}
}

func orderLine(l *stub.OrderLine) shop.OrderLine {
	return shop.OrderLine{
		LineNumber: int64(l.LineNumber), ProductID: l.ProductID, Quantity: int64(l.Quantity), UnitPrice: money(l.UnitPrice),
	}
}

func payment(p *stub.Payment) shop.Payment {
	return shop.Payment{
		OrderID: p.OrderID, Status: strings.TrimPrefix(p.Status.String(), "PAYMENT_STATUS_"), Amount: money(p.Amount),
	}
}

func exportedLine(l *stub.JoinedOrderLine) shop.ExportedLine {
	return shop.ExportedLine{
		ID: l.ID, OrderID: l.OrderID, PlacedAt: instant(l.CreateTime), ProductID: l.ProductID, Quantity: int64(l.Quantity),
		Status: orderStatus(l.Status), UnitPrice: money(l.UnitPrice), UserID: l.UserID,
	}
}
