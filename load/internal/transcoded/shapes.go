package transcoded

import (
	"strings"

	"hopwise/load/internal/shop"
)

// This file has the fields that are read, in protobuf's JSON form with the names in the proto files. An int64 is a
// string, an enum its full name, a timestamp in RFC 3339 format. Zero values may be absent.

type money struct {
	AmountMinor int64  `json:"amount_minor,string"`
	Currency    string `json:"currency"`
}

func (m money) canonical() shop.Money {
	return shop.Money{AmountMinor: m.AmountMinor, Currency: m.Currency}
}

func orderStatus(name string) string { return strings.TrimPrefix(name, "ORDER_STATUS_") }

type order struct {
	ID     int64       `json:"id,string"`
	Status string      `json:"status"`
	Total  money       `json:"total"`
	Lines  []orderLine `json:"lines"`
}

type orderLine struct {
	LineNumber int64 `json:"line_number"`
	ProductID  int64 `json:"product_id,string"`
	Quantity   int64 `json:"quantity"`
	UnitPrice  money `json:"unit_price"`
}

func (o order) canonical() shop.Order {
	lines := make([]shop.OrderLine, len(o.Lines))
	for i, l := range o.Lines {
		lines[i] = shop.OrderLine{LineNumber: l.LineNumber, ProductID: l.ProductID, Quantity: l.Quantity, UnitPrice: l.UnitPrice.canonical()}
	}
	return shop.Order{ID: o.ID, Status: orderStatus(o.Status), Total: o.Total.canonical(), Lines: lines}
}

type payment struct {
	OrderID int64  `json:"order_id,string"`
	Status  string `json:"status"`
	Amount  money  `json:"amount"`
}

func (p payment) canonical() shop.Payment {
	return shop.Payment{OrderID: p.OrderID, Status: strings.TrimPrefix(p.Status, "PAYMENT_STATUS_"), Amount: p.Amount.canonical()}
}

type exportedLine struct {
	ID         int64        `json:"id,string"`
	OrderID    int64        `json:"order_id,string"`
	UserID     int64        `json:"user_id,string"`
	Status     string       `json:"status"`
	CreateTime shop.Instant `json:"create_time"`
	ProductID  int64        `json:"product_id,string"`
	Quantity   int64        `json:"quantity"`
	UnitPrice  money        `json:"unit_price"`
}

func (l exportedLine) canonical() shop.ExportedLine {
	return shop.ExportedLine{
		ID: l.ID, OrderID: l.OrderID, PlacedAt: l.CreateTime, ProductID: l.ProductID, Quantity: l.Quantity,
		Status: orderStatus(l.Status), UnitPrice: l.UnitPrice.canonical(), UserID: l.UserID,
	}
}

type document struct {
	ID       int64 `json:"id,string"`
	Sections []struct {
		Title   string `json:"title"`
		Records []struct {
			Text  string       `json:"text"`
			Count int64        `json:"count,string"`
			Value float64      `json:"value"`
			OK    bool         `json:"ok"`
			At    shop.Instant `json:"at"`
			Price *money       `json:"price"`
		} `json:"records"`
	} `json:"sections"`
}

func (d document) canonical() shop.Document {
	sections := make([]shop.DocumentSection, len(d.Sections))
	for i, s := range d.Sections {
		sections[i] = shop.DocumentSection{Title: s.Title, Records: make([]shop.DocumentRecord, len(s.Records))}
		for k, r := range s.Records {
			sections[i].Records[k] = shop.DocumentRecord{
				At: r.At, Count: r.Count, OK: r.OK, Price: (*shop.Money)(r.Price), Text: r.Text, Value: r.Value,
			}
		}
	}
	return shop.Document{ID: d.ID, Sections: sections}
}
