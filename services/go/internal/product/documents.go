package product

import (
	"time"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/lists"
)

// REST's documents. The JSON of the contract's messages differs: it leaves out fields that are 0 or empty.
type (
	productDocument struct {
		ID          int64            `json:"id"`
		Title       string           `json:"title"`
		Description string           `json:"description"`
		Category    string           `json:"category"`
		Price       moneyDocument    `json:"price"`
		Stock       int64            `json:"stock"`
		Reviews     []reviewDocument `json:"reviews,omitzero"`
	}
	moneyDocument struct {
		AmountMinor int64  `json:"amount_minor"`
		Currency    string `json:"currency"`
	}
	reviewDocument struct {
		ID        int64  `json:"id"`
		ProductID int64  `json:"product_id"`
		UserID    int64  `json:"user_id"`
		Rating    int32  `json:"rating"`
		Title     string `json:"title"`
		Body      string `json:"body"`
	}
	productPage struct {
		Products      any    `json:"products"` // documents, or some of their fields
		NextPageToken string `json:"next_page_token"`
	}
	reviewedDocument struct {
		ProductID int64            `json:"product_id"`
		Reviews   []reviewDocument `json:"reviews"`
	}
	reviewList struct {
		Products []reviewedDocument `json:"products"`
	}
	rowDocument struct {
		ProductID int64         `json:"product_id"`
		Title     string        `json:"title"`
		Price     moneyDocument `json:"price"`
		Stock     int64         `json:"stock"`
	}
	rowPage struct {
		Rows          []rowDocument `json:"rows"`
		NextPageToken string        `json:"next_page_token"`
	}
	lineDocument struct {
		ProductID int64         `json:"product_id"`
		Quantity  int32         `json:"quantity"`
		UnitPrice moneyDocument `json:"unit_price"`
	}
	reservationDocument struct {
		ID    string         `json:"id"`
		State string         `json:"state"`
		Lines []lineDocument `json:"lines"`
	}
	technicalDocument struct {
		ID       int64             `json:"id"`
		Sections []sectionDocument `json:"sections"`
	}
	sectionDocument struct {
		Title   string           `json:"title"`
		Records []recordDocument `json:"records"`
	}
	recordDocument struct {
		Text  string        `json:"text"`
		Count int64         `json:"count"`
		Value float64       `json:"value"`
		Ok    bool          `json:"ok"`
		At    time.Time     `json:"at,omitzero"`
		Price moneyDocument `json:"price,omitzero"`
	}
)

// sold is a product with or without reviews.
type sold interface {
	identified
	GetTitle() string
	GetDescription() string
	GetCategory() string
	GetPrice() *typev1.Money
	GetStock() int64
}

func moneyOf(m *typev1.Money) moneyDocument {
	return moneyDocument{m.GetAmountMinor(), m.GetCurrency()}
}

func documentOf[P sold](p P) productDocument {
	return productDocument{
		ID: p.GetId(), Title: p.GetTitle(), Description: p.GetDescription(), Category: p.GetCategory(),
		Price: moneyOf(p.GetPrice()), Stock: p.GetStock(),
	}
}

func reviewedOf(p *pb.ReviewedProduct) productDocument {
	document := documentOf(p)
	document.Reviews = lists.Map(p.Reviews, reviewDocumentOf)
	return document
}

func reviewDocumentOf(r *pb.Review) reviewDocument {
	return reviewDocument{r.Id, r.ProductId, r.UserId, r.Rating, r.Title, r.Body}
}

func rowDocumentOf(r *pb.ProductRow) rowDocument {
	return rowDocument{r.ProductId, r.Title, moneyOf(r.Price), r.Stock}
}

func technicalOf(d *pb.Document) technicalDocument {
	return technicalDocument{d.GetId(), lists.Map(d.GetSections(), func(s *pb.DocumentSection) sectionDocument {
		return sectionDocument{s.Title, lists.Map(s.Records, recordOf)}
	})}
}

func recordOf(r *pb.DocumentRecord) recordDocument {
	document := recordDocument{Text: r.Text, Count: r.Count, Value: r.Value, Ok: r.Ok, Price: moneyOf(r.Price)}
	if r.At != nil {
		document.At = r.At.AsTime()
	}
	return document
}

func reservationOf(r *pb.Reservation) reservationDocument {
	return reservationDocument{r.GetId(), nameOf(r.GetState()), lists.Map(r.GetLines(), func(l *pb.ReservedLine) lineDocument {
		return lineDocument{l.ProductId, l.Quantity, moneyOf(l.UnitPrice)}
	})}
}
