package rpc

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"hopwise/load/internal/shop"
	"hopwise/proto/stubs/notificationv1"
	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/proto/stubs/userv1"
)

// This file has the messages' canonical forms. A missing message becomes an empty value, which the check reports.

func money(m *typev1.Money) shop.Money {
	return shop.Money{AmountMinor: m.GetAmountMinor(), Currency: m.GetCurrency()}
}

func addressOf(a shop.Address) *typev1.Address {
	return &typev1.Address{
		City: a.City, CountryCode: a.CountryCode, PostalCode: a.PostalCode, Recipient: a.Recipient, Street: a.Street,
	}
}

func instant(t *timestamppb.Timestamp) shop.Instant {
	if t.GetSeconds() == 0 || t.GetNanos() != 0 {
		return ""
	}
	return shop.InstantOf(t.AsTime())
}

func orderStatus(s orderv1.OrderStatus) string {
	return strings.TrimPrefix(s.String(), "ORDER_STATUS_")
}

func product(p *productv1.Product) shop.Product {
	return shop.Product{
		ID: p.GetId(), Title: p.GetTitle(), Description: p.GetDescription(), Category: p.GetCategory(),
		Price: money(p.GetPrice()), Stock: p.GetStock(),
	}
}

func reviewedProduct(p *productv1.ReviewedProduct) shop.Product {
	return shop.Product{
		ID: p.GetId(), Title: p.GetTitle(), Description: p.GetDescription(), Category: p.GetCategory(),
		Price: money(p.GetPrice()), Stock: p.GetStock(), Reviews: shop.Mapped(p.GetReviews(), review),
	}
}

func section(s *productv1.DocumentSection) shop.DocumentSection {
	return shop.DocumentSection{Title: s.GetTitle(), Records: shop.Mapped(s.GetRecords(), record)}
}

func record(r *productv1.DocumentRecord) shop.DocumentRecord {
	canonical := shop.DocumentRecord{At: instant(r.GetAt()), Count: r.GetCount(), OK: r.GetOk(), Text: r.GetText(), Value: r.GetValue()}
	if r.Price != nil {
		price := money(r.Price)
		canonical.Price = &price
	}
	return canonical
}

func review(r *productv1.Review) shop.Review {
	return shop.Review{ID: r.GetId(), Rating: int64(r.GetRating()), Title: r.GetTitle()}
}

func user(u *userv1.User) shop.User {
	a := u.GetAddress()
	return shop.User{ID: u.GetId(), Email: u.GetEmail(), Name: u.GetName(), Address: shop.Address{
		City: a.GetCity(), CountryCode: a.GetCountryCode(), PostalCode: a.GetPostalCode(), Recipient: a.GetRecipient(), Street: a.GetStreet(),
	}}
}

func order(o *orderv1.Order) shop.Order {
	return shop.Order{
		ID: o.GetId(), UserID: o.GetUserId(), Status: orderStatus(o.GetStatus()), PlacedAt: instant(o.GetCreateTime()),
		Total: money(o.GetTotal()), Lines: shop.Mapped(o.GetLines(), orderLine),
	}
}

func notification(n *notificationv1.Notification) shop.Notification {
	return shop.Notification{
		CreatedAt: instant(n.GetCreateTime()), OrderID: n.GetOrderId(), Position: n.GetPosition(), Read: n.GetRead(), Status: orderStatus(n.GetStatus()),
	}
}

func orderLine(l *orderv1.OrderLine) shop.OrderLine {
	return shop.OrderLine{
		LineNumber: int64(l.GetLineNumber()), ProductID: l.GetProductId(), Quantity: int64(l.GetQuantity()), UnitPrice: money(l.GetUnitPrice()),
	}
}

func payment(p *paymentv1.Payment) shop.Payment {
	return shop.Payment{
		OrderID: p.GetOrderId(), Status: strings.TrimPrefix(p.GetStatus().String(), "PAYMENT_STATUS_"), Amount: money(p.GetAmount()),
	}
}

func exportedLine(l *orderv1.JoinedOrderLine) shop.ExportedLine {
	return shop.ExportedLine{
		ID: l.Id, OrderID: l.OrderId, PlacedAt: instant(l.CreateTime), ProductID: l.ProductId, Quantity: int64(l.Quantity),
		Status: orderStatus(l.Status), UnitPrice: money(l.UnitPrice), UserID: l.UserId,
	}
}
