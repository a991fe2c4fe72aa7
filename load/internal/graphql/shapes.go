package graphql

import "hopwise/load/internal/shop"

// The types of the schema with the fields that the documents select, and their canonical forms.

type Connection[T any] struct {
	Edges []struct {
		Node T `json:"node"`
	} `json:"edges"`
}

// Nodes returns the items of the page, in canonical form.
func Nodes[T interface{ Canonical() C }, C any](c Connection[T]) []C {
	nodes := make([]C, len(c.Edges))
	for i, edge := range c.Edges {
		nodes[i] = edge.Node.Canonical()
	}
	return nodes
}

type money struct {
	AmountMinor int64  `json:"amountMinor"`
	Currency    string `json:"currency"`
}

func (m money) canonical() shop.Money {
	return shop.Money{AmountMinor: m.AmountMinor, Currency: m.Currency}
}

type Product struct {
	ID          ID     `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Category    string `json:"category"`
	Stock       int64  `json:"stock"`
	Price       money  `json:"price"`
	Reviews     []struct {
		ID     ID     `json:"id"`
		Rating int64  `json:"rating"`
		Title  string `json:"title"`
	} `json:"reviews"`
}

func (p Product) Canonical() shop.Product {
	reviews := make([]shop.Review, len(p.Reviews))
	for i, r := range p.Reviews {
		reviews[i] = shop.Review{ID: r.ID.Of("Review"), Rating: r.Rating, Title: r.Title}
	}
	return shop.Product{
		ID: p.ID.Of("Product"), Title: p.Title, Description: p.Description, Category: p.Category,
		Price: p.Price.canonical(), Stock: p.Stock, Reviews: reviews,
	}
}

type Document struct {
	ID       ID `json:"id"`
	Sections []struct {
		Title   string `json:"title"`
		Records []struct {
			Text  string       `json:"text"`
			Count int64        `json:"count"`
			Value float64      `json:"value"`
			OK    bool         `json:"ok"`
			At    shop.Instant `json:"at"`
			Price *money       `json:"price"`
		} `json:"records"`
	} `json:"sections"`
}

func (d Document) Canonical() shop.Document {
	sections := make([]shop.DocumentSection, len(d.Sections))
	for i, s := range d.Sections {
		sections[i] = shop.DocumentSection{Title: s.Title, Records: make([]shop.DocumentRecord, len(s.Records))}
		for k, r := range s.Records {
			sections[i].Records[k] = shop.DocumentRecord{
				At: r.At, Count: r.Count, OK: r.OK, Price: (*shop.Money)(r.Price), Text: r.Text, Value: r.Value,
			}
		}
	}
	return shop.Document{ID: d.ID.Of("Document"), Sections: sections}
}

type Order struct {
	ID       ID           `json:"id"`
	Status   string       `json:"status"`
	PlacedAt shop.Instant `json:"placedAt"`
	Total    money        `json:"total"`
	Payment  struct {
		Status string `json:"status"`
		Amount money  `json:"amount"`
	} `json:"payment"`
	Lines []struct {
		LineNumber int64    `json:"lineNumber"`
		Quantity   int64    `json:"quantity"`
		UnitPrice  money    `json:"unitPrice"`
		Product    lineItem `json:"product"`
	} `json:"lines"`
}

type lineItem struct {
	ID    ID     `json:"id"`
	Title string `json:"title"`
}

func (o Order) Canonical() shop.Order {
	lines := make([]shop.OrderLine, len(o.Lines))
	for i, l := range o.Lines {
		lines[i] = shop.OrderLine{
			LineNumber: l.LineNumber, ProductID: l.Product.ID.Of("Product"), Title: l.Product.Title, Quantity: l.Quantity,
			UnitPrice: l.UnitPrice.canonical(),
		}
	}
	return shop.Order{
		ID: o.ID.Of("Order"), Status: o.Status, PlacedAt: o.PlacedAt, Total: o.Total.canonical(), Lines: lines,
		Payment: shop.Payment{Status: o.Payment.Status, Amount: o.Payment.Amount.canonical()},
	}
}

type Notification struct {
	Position  int64        `json:"position"`
	Status    string       `json:"status"`
	CreatedAt shop.Instant `json:"createdAt"`
	Read      bool         `json:"read"`
	Order     struct {
		ID ID `json:"id"`
	} `json:"order"`
}

func (n Notification) Canonical() shop.Notification {
	return shop.Notification{
		CreatedAt: n.CreatedAt, OrderID: n.Order.ID.Of("Order"), Position: n.Position, Read: n.Read, Status: n.Status,
	}
}

// ExportedLine is an order line of the schema together with its order.
type ExportedLine struct {
	ID        ID       `json:"id"`
	Quantity  int64    `json:"quantity"`
	UnitPrice money    `json:"unitPrice"`
	Product   lineItem `json:"product"`
	Order     struct {
		ID       ID           `json:"id"`
		Status   string       `json:"status"`
		PlacedAt shop.Instant `json:"placedAt"`
		User     struct {
			ID ID `json:"id"`
		} `json:"user"`
	} `json:"order"`
}

func (l ExportedLine) Canonical() shop.ExportedLine {
	return shop.ExportedLine{
		ID: l.ID.Of("OrderLine"), OrderID: l.Order.ID.Of("Order"), PlacedAt: l.Order.PlacedAt,
		ProductID: l.Product.ID.Of("Product"), Quantity: l.Quantity, Status: l.Order.Status,
		UnitPrice: l.UnitPrice.canonical(), UserID: l.Order.User.ID.Of("User"),
	}
}

type User struct {
	ID      ID                `json:"id"`
	Email   string            `json:"email"`
	Name    string            `json:"name"`
	Address Address           `json:"address"`
	Orders  Connection[Order] `json:"orders"`
}

func (u User) Canonical() shop.User {
	return shop.User{ID: u.ID.Of("User"), Email: u.Email, Name: u.Name, Address: shop.Address(u.Address)}
}

// Address is an address of the schema, in answers and in variables.
type Address struct {
	City        string `json:"city"`
	CountryCode string `json:"countryCode"`
	PostalCode  string `json:"postalCode"`
	Recipient   string `json:"recipient"`
	Street      string `json:"street"`
}

// SubgraphLine is an order line in the bulk read of the orders subgraph.
type SubgraphLine struct {
	ID        int64        `json:"id"`
	OrderID   int64        `json:"orderId"`
	UserID    int64        `json:"userId"`
	Status    string       `json:"status"`
	PlacedAt  shop.Instant `json:"placedAt"`
	ProductID int64        `json:"productId"`
	Quantity  int64        `json:"quantity"`
	UnitPrice money        `json:"unitPrice"`
}

func (l SubgraphLine) Canonical() shop.ExportedLine {
	return shop.ExportedLine{
		ID: l.ID, OrderID: l.OrderID, PlacedAt: l.PlacedAt, ProductID: l.ProductID, Quantity: l.Quantity,
		Status: l.Status, UnitPrice: l.UnitPrice.canonical(), UserID: l.UserID,
	}
}
