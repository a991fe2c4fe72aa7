package product

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/lists"
	"hopwise/services/internal/pagetoken"
	"hopwise/services/internal/rest"
	"hopwise/services/internal/shoperr"
)

const (
	largestRowsPage = 10_000
	scopeOfRows     = "product-rows"
)

// door decodes requests, calls the use cases, and returns documents.
type door struct{ *Service }

// NewDoor returns the catalogue over REST.
func NewDoor(s *Service, g *guard.Guard, tracer trace.Tracer) http.Handler {
	d := door{s}
	return rest.New(g, tracer, map[string]rest.Route{
		pb.ProductService_ListProducts_FullMethodName: {
			Answer: d.list, Parameters: []string{"category", "ids", "page_size", "page_token", "include", "review_limit", "fields"},
		},
		pb.ProductService_GetProduct_FullMethodName:       {Answer: d.get, Parameters: []string{"include", "fields"}},
		pb.ProductService_CreateProduct_FullMethodName:    {Answer: d.create, HasBody: true},
		pb.ProductService_UpdateProduct_FullMethodName:    {Answer: d.update, HasBody: true},
		pb.ProductService_DeleteProduct_FullMethodName:    {Answer: d.remove},
		pb.ProductService_BatchListReviews_FullMethodName: {Answer: d.reviews, Parameters: []string{"product_ids", "limit"}},
		pb.ProductService_StreamProductRows_FullMethodName: {
			Answer: d.rows, Parameters: []string{"after_product_id", "page_size", "page_token"},
		},
		pb.ProductService_GetDocument_FullMethodName:        {Answer: d.technical},
		pb.ProductService_ReserveStock_FullMethodName:       {Answer: d.reserve, HasBody: true},
		pb.ProductService_ConfirmReservation_FullMethodName: {Answer: d.confirm},
		pb.ProductService_ReleaseReservation_FullMethodName: {Answer: d.release},
	})
}

func (d door) list(ctx context.Context, c *rest.Call) (any, error) {
	size, each := int32(c.Whole("page_size", pageSize, 1, largestPage)), int32(c.Whole("review_limit", reviewsEach, 1, maxReviews))
	category, token, withReviews := c.Text("category"), c.Text("page_token"), c.Includes("reviews")
	mask := c.Fields((*pb.ReviewedProduct)(nil))
	var ids []int64
	if c.Has("ids") {
		c.RequireAlone("ids", "category", "page_token")
		ids = c.IDs("ids")
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	switch {
	case ids != nil && withReviews:
		r, err := d.BatchGetProductsWithReviews(ctx, &pb.BatchGetProductsWithReviewsRequest{Ids: ids, ReviewLimit: each})
		return productPage{mask.Select(lists.Map(r.GetProducts(), reviewedOf)), ""}, err
	case ids != nil:
		r, err := d.BatchGetProducts(ctx, &pb.BatchGetProductsRequest{Ids: ids})
		return productPage{mask.Select(lists.Map(r.GetProducts(), documentOf[*pb.Product])), ""}, err
	case withReviews:
		r, err := d.ListProductsWithReviews(ctx, &pb.ListProductsWithReviewsRequest{
			PageSize: size, PageToken: token, Category: category, ReviewLimit: each,
		})
		return productPage{mask.Select(lists.Map(r.GetProducts(), reviewedOf)), r.GetNextPageToken()}, err
	}
	r, err := d.ListProducts(ctx, &pb.ListProductsRequest{PageSize: size, PageToken: token, Category: category})
	return productPage{mask.Select(lists.Map(r.GetProducts(), documentOf[*pb.Product])), r.GetNextPageToken()}, err
}

// inBody gives the field of an error its name in REST's bodies, which lacks the prefix "product." of the messages.
func inBody(err error) error {
	failure := new(shoperr.Error)
	if !errors.As(err, &failure) || !strings.HasPrefix(failure.Field, "product.") {
		return err
	}
	named := *failure
	named.Field = strings.TrimPrefix(failure.Field, "product.")
	return &named
}

func (d door) get(ctx context.Context, c *rest.Call) (any, error) {
	id, withReviews, mask := c.ID("product_id"), c.Includes("reviews"), c.Fields((*pb.ReviewedProduct)(nil))
	if c.Err() != nil {
		return nil, c.Err()
	}
	if !withReviews {
		p, err := d.GetProduct(ctx, &pb.GetProductRequest{Id: id})
		return mask.Select(documentOf(p)), err
	}
	answer, err := d.BatchGetProductsWithReviews(ctx, &pb.BatchGetProductsWithReviewsRequest{Ids: []int64{id}})
	if err == nil && len(answer.Products) == 0 {
		err = shoperr.NoSuch("product", id)
	}
	if err != nil {
		return nil, err
	}
	return mask.Select(reviewedOf(answer.Products[0])), nil
}

// readProduct reads a product from the body, and the names of its fields.
func readProduct(c *rest.Call, isChange bool) (*pb.Product, []string) {
	p := &pb.Product{Price: new(typev1.Money)}
	given := c.ReadBody(isChange, rest.Member{Name: "title", Into: &p.Title}, rest.Member{Name: "description", Into: &p.Description},
		rest.Member{Name: "category", Into: &p.Category}, rest.Member{Name: "price", Into: func(value json.RawMessage, field string) {
			c.ReadObject(value, field, false, rest.Member{Name: "amount_minor", Into: &p.Price.AmountMinor},
				rest.Member{Name: "currency", Into: &p.Price.Currency})
		}}, rest.Member{Name: "stock", Into: &p.Stock})
	return p, given
}

func (d door) create(ctx context.Context, c *rest.Call) (any, error) {
	p, _ := readProduct(c, false)
	if c.Err() != nil {
		return nil, c.Err()
	}
	p, err := d.CreateProduct(ctx, &pb.CreateProductRequest{Product: p})
	return rest.Created{Document: documentOf(p), Location: fmt.Sprintf("/v1/products/%d", p.GetId())}, inBody(err)
}

func (d door) update(ctx context.Context, c *rest.Call) (any, error) {
	id := c.ID("product_id")
	p, given := readProduct(c, true)
	expected, err := d.readExpected(ctx, c, id)
	if err != nil {
		return nil, err
	}
	p.Id = id
	p, err = d.UpdateProduct(ctx, &pb.UpdateProductRequest{
		Product: p, UpdateMask: &fieldmaskpb.FieldMask{Paths: given}, Expected: expected,
	})
	return documentOf(p), inBody(err)
}

func (d door) remove(ctx context.Context, c *rest.Call) (any, error) {
	id := c.ID("product_id")
	expected, err := d.readExpected(ctx, c, id)
	if err == nil {
		_, err = d.DeleteProduct(ctx, &pb.DeleteProductRequest{Id: id, Expected: expected})
	}
	return nil, err
}

// readExpected returns the version that the client read, so that only this version is changed; nil without a condition.
func (d door) readExpected(ctx context.Context, c *rest.Call, id int64) (*pb.Product, error) {
	condition := strings.TrimSpace(c.Header.Get("If-Match"))
	if c.Err() != nil || condition == "" || condition == "*" {
		return nil, c.Err()
	}
	p, err := d.GetProduct(ctx, &pb.GetProductRequest{Id: id})
	if err == nil && !rest.Matches(condition, rest.EntityTag(rest.Encode(documentOf(p)))) {
		err = shoperr.New(shoperr.PreconditionFailed, "If-Match",
			"If-Match does not match: the resource has changed since you read it; read it again without include and fields")
	}
	return p, err
}

func (d door) reviews(ctx context.Context, c *rest.Call) (any, error) {
	ids, each := c.IDs("product_ids"), int32(c.Whole("limit", reviewsEach, 1, maxReviews))
	if c.Err() != nil {
		return nil, c.Err()
	}
	r, err := d.BatchListReviews(ctx, &pb.BatchListReviewsRequest{ProductIds: ids, Limit: each})
	return reviewList{lists.Map(r.GetProducts(), func(p *pb.ProductReviews) reviewedDocument {
		return reviewedDocument{p.ProductId, lists.Map(p.Reviews, reviewDocumentOf)}
	})}, err
}

func (d door) rows(ctx context.Context, c *rest.Call) (any, error) {
	size := int(c.Whole("page_size", rowsByDefault, 1, largestRowsPage))
	after, token := c.Whole("after_product_id", 0, 0, math.MaxInt64), c.Text("page_token")
	if token != "" && after != 0 {
		c.RequireAlone("page_token", "after_product_id")
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	behind, err := pagetoken.Decode(d.pageTokenKey, scopeOfRows, token)
	if err != nil {
		return nil, err
	}
	page := rowPage{Rows: []rowDocument{}}
	err = d.readRows(ctx, max(after, behind), size, func(rows []*pb.ProductRow) error {
		page.Rows = append(page.Rows, lists.Map(rows, rowDocumentOf)...)
		return nil
	})
	if len(page.Rows) == size {
		page.NextPageToken = pagetoken.Encode(d.pageTokenKey, scopeOfRows, page.Rows[size-1].ProductID)
	}
	return page, err
}

func (d door) technical(ctx context.Context, c *rest.Call) (any, error) {
	id := c.ID("document_id")
	if c.Err() != nil {
		return nil, c.Err()
	}
	document, err := d.GetDocument(ctx, &pb.GetDocumentRequest{Id: id})
	return technicalOf(document), err
}

func (d door) reserve(ctx context.Context, c *rest.Call) (any, error) {
	var lines []*pb.StockLine
	c.ReadBody(false, rest.Member{Name: "lines", Into: func(value json.RawMessage, field string) {
		for index, entry := range c.ReadList(value, field) {
			line := new(pb.StockLine)
			c.ReadObject(entry, fmt.Sprintf("%s[%d]", field, index), false,
				rest.Member{Name: "product_id", Into: &line.ProductId}, rest.Member{Name: "quantity", Into: &line.Quantity})
			lines = append(lines, line)
		}
	}})
	if c.Err() != nil {
		return nil, c.Err()
	}
	r, err := d.ReserveStock(ctx, &pb.ReserveStockRequest{ReservationId: c.Item, Lines: lines})
	return reservationOf(r), err
}

func (d door) confirm(ctx context.Context, c *rest.Call) (any, error) {
	r, err := d.ConfirmReservation(ctx, &pb.ConfirmReservationRequest{ReservationId: c.Item})
	return reservationOf(r), err
}

func (d door) release(ctx context.Context, c *rest.Call) (any, error) {
	r, err := d.ReleaseReservation(ctx, &pb.ReleaseReservationRequest{ReservationId: c.Item})
	return reservationOf(r), err
}
