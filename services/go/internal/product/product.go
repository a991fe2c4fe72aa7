// Package product is the catalogue and its stock, over gRPC and REST.
package product

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/services/internal/pagetoken"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/validate"
)

const (
	pageSize        = 20
	largestPage     = 1_000
	reviewsEach     = 3
	maxReviews      = 20
	rowsByDefault   = 1_000
	maxRows         = 100_000
	rowsAChunk      = 250
	rowsAQuery      = 5_000 // enough for a typical stream in one query, but few enough for memory
	sectionsAChunk  = 10
	scopeOfListings = "ListProducts:"
)

// Service has the catalogue's use cases.
type Service struct {
	pb.UnimplementedProductServiceServer
	store
	pageTokenKey []byte
}

var _ pb.ProductServiceServer = (*Service)(nil)

// New returns the catalogue over its tables.
func New(pool *pgxpool.Pool, pageTokenKey []byte) *Service {
	return &Service{store: store{pool}, pageTokenKey: pageTokenKey}
}

// GetProduct returns one product.
func (s *Service) GetProduct(ctx context.Context, r *pb.GetProductRequest) (*pb.Product, error) {
	if err := validate.Identifier(r.Id, "id"); err != nil {
		return nil, err
	}
	product, err := one(ctx, s.pool, productOf, getSQL, r.Id)
	return shoperr.Existing(product, err, "product", r.Id)
}

// BatchGetProducts returns the products that exist, in the order of the ids.
func (s *Service) BatchGetProducts(
	ctx context.Context, r *pb.BatchGetProductsRequest,
) (*pb.BatchGetProductsResponse, error) {
	wanted, err := validate.Identifiers(r.Ids, "ids")
	if err != nil {
		return nil, err
	}
	products, err := many(ctx, s.pool, productOf, batchGetSQL, wanted)
	if err != nil {
		return nil, err
	}
	sortAs(wanted, products)
	return &pb.BatchGetProductsResponse{Products: products}, nil
}

// BatchGetProductsWithReviews returns the products that exist with their first reviews, in the order of the ids.
func (s *Service) BatchGetProductsWithReviews(
	ctx context.Context, r *pb.BatchGetProductsWithReviewsRequest,
) (*pb.BatchGetProductsWithReviewsResponse, error) {
	wanted, err := validate.Identifiers(r.Ids, "ids")
	each, wrongSize := validate.Size(r.ReviewLimit, "review_limit", reviewsEach, maxReviews)
	if err := cmp.Or(err, wrongSize); err != nil {
		return nil, err
	}
	products, err := s.readReviewed(ctx, batchGetWithReviewsSQL, wanted, each)
	if err != nil {
		return nil, err
	}
	sortAs(wanted, products)
	return &pb.BatchGetProductsWithReviewsResponse{Products: products}, nil
}

// identified is a product with or without reviews.
type identified interface{ GetId() int64 }

// sortAs sorts products in the order of their ids in a request.
func sortAs[P identified](ids []int64, products []P) {
	position := make(map[int64]int, len(ids))
	for index, id := range ids {
		position[id] = index
	}
	slices.SortFunc(products, func(one, other P) int { return position[one.GetId()] - position[other.GetId()] })
}

// ListProducts returns a page of the catalogue, by ascending id.
func (s *Service) ListProducts(ctx context.Context, r *pb.ListProductsRequest) (*pb.ListProductsResponse, error) {
	products, token, err := pageOf(s, r, func(after int64, limit int) ([]*pb.Product, error) {
		if r.Category == "" {
			return many(ctx, s.pool, productOf, pageSQL, after, limit)
		}
		return many(ctx, s.pool, productOf, pageOfCategorySQL, after, limit, r.Category)
	})
	return &pb.ListProductsResponse{Products: products, NextPageToken: token}, err
}

// ListProductsWithReviews returns a page of the catalogue with each product's first reviews, by ascending id.
func (s *Service) ListProductsWithReviews(
	ctx context.Context, r *pb.ListProductsWithReviewsRequest,
) (*pb.ListProductsWithReviewsResponse, error) {
	each, err := validate.Size(r.ReviewLimit, "review_limit", reviewsEach, maxReviews)
	if err != nil {
		return nil, err
	}
	products, token, err := pageOf(s, r, func(after int64, limit int) ([]*pb.ReviewedProduct, error) {
		if r.Category == "" {
			return s.readReviewed(ctx, pageWithReviewsSQL, after, limit, each)
		}
		return s.readReviewed(ctx, pageOfCategoryWithReviewsSQL, after, limit, r.Category, each)
	})
	return &pb.ListProductsWithReviewsResponse{Products: products, NextPageToken: token}, err
}

// listing is a request for a page of the catalogue.
type listing interface {
	GetPageSize() int32
	GetPageToken() string
	GetCategory() string
}

// pageOf returns a page of the catalogue, and the token of the next page.
func pageOf[P identified](
	s *Service, r listing, read func(after int64, limit int) ([]P, error),
) (products []P, next string, err error) {
	limit, err := validate.Size(r.GetPageSize(), "page_size", pageSize, largestPage)
	if err == nil && r.GetCategory() != "" {
		err = validate.Matching(r.GetCategory(), "category", category, categoryForm)
	}
	if err != nil {
		return nil, "", err
	}
	scope := scopeOfListings + r.GetCategory()
	after, err := pagetoken.Decode(s.pageTokenKey, scope, r.GetPageToken())
	if err != nil {
		return nil, "", err
	}
	// Reading one product more than the page has shows whether there is a next page.
	products, err = read(after, limit+1)
	if err != nil || len(products) <= limit {
		return products, "", err
	}
	return products[:limit], pagetoken.Encode(s.pageTokenKey, scope, products[limit-1].GetId()), nil
}

// CreateProduct adds a product.
func (s *Service) CreateProduct(ctx context.Context, r *pb.CreateProductRequest) (*pb.Product, error) {
	all, _ := changeOf(r.Product, changeable)
	if err := all.check(); err != nil {
		return nil, err
	}
	return s.add(ctx, r.Product)
}

// UpdateProduct changes the fields that the mask names.
func (s *Service) UpdateProduct(ctx context.Context, r *pb.UpdateProductRequest) (*pb.Product, error) {
	id := r.GetProduct().GetId()
	changed, err := changeOf(r.Product, r.GetUpdateMask().GetPaths())
	err = cmp.Or(err, validate.Identifier(id, "product.id"), changed.check(), checkExpected(r.Expected, id))
	if err == nil && r.Expected == nil && changed.stock != nil {
		err = shoperr.New(shoperr.PreconditionRequired, "expected",
			"customers change the stock, too: say what you read, in REST by If-Match, else by expected")
	}
	if err != nil {
		return nil, err
	}
	product, err := s.change(ctx, id, changed, r.Expected)
	if err == nil && product == nil && r.Expected != nil {
		if current, err := one(ctx, s.pool, productOf, getSQL, id); err != nil || current != nil {
			return nil, cmp.Or(err, changedSince(id))
		}
	}
	return shoperr.Existing(product, err, "product", id)
}

// DeleteProduct removes a product that has no reserved stock.
func (s *Service) DeleteProduct(ctx context.Context, r *pb.DeleteProductRequest) (*emptypb.Empty, error) {
	if err := cmp.Or(validate.Identifier(r.Id, "id"), checkExpected(r.Expected, r.Id)); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.inTransaction(ctx, func(stock stock) error {
		products, err := stock.productsLocked(ctx, []int64{r.Id})
		if err != nil {
			return err
		}
		if len(products) == 0 {
			return shoperr.NoSuch("product", r.Id)
		}
		if r.Expected != nil && !proto.Equal(r.Expected, products[0]) {
			return changedSince(r.Id)
		}
		var held bool
		if err := stock.tx.QueryRow(ctx, isHeldSQL, r.Id).Scan(&held); err != nil {
			return err
		}
		if held {
			return shoperr.New(shoperr.FailedPrecondition, "id", "product %d has reserved stock; delete it later", r.Id)
		}
		_, err = stock.tx.Exec(ctx, deleteSQL, r.Id)
		return err
	})
}

// BatchListReviews returns the first reviews of each product.
func (s *Service) BatchListReviews(
	ctx context.Context, r *pb.BatchListReviewsRequest,
) (*pb.BatchListReviewsResponse, error) {
	wanted, err := validate.Identifiers(r.ProductIds, "product_ids")
	each, wrongSize := validate.Size(r.Limit, "limit", reviewsEach, maxReviews)
	if err := cmp.Or(err, wrongSize); err != nil {
		return nil, err
	}
	reviews, err := many(ctx, s.pool, reviewOf, reviewsSQL, wanted, each)
	if err != nil {
		return nil, err
	}
	of := make(map[int64][]*pb.Review, len(wanted))
	for _, review := range reviews {
		of[review.ProductId] = append(of[review.ProductId], review)
	}
	answer := new(pb.BatchListReviewsResponse)
	for _, id := range wanted {
		answer.Products = append(answer.Products, &pb.ProductReviews{ProductId: id, Reviews: of[id]})
	}
	return answer, nil
}

// StreamProductRows sends product rows by ascending id.
func (s *Service) StreamProductRows(r *pb.StreamProductRowsRequest, stream pb.ProductService_StreamProductRowsServer) error {
	limit, err := validate.Size(r.Limit, "limit", rowsByDefault, maxRows)
	if err := cmp.Or(validate.Between(r.AfterProductId, "after_product_id", 0, math.MaxInt64), err); err != nil {
		return err
	}
	return s.readRows(stream.Context(), r.AfterProductId, limit, func(rows []*pb.ProductRow) error {
		for chunk := range slices.Chunk(rows, rowsAChunk) {
			if err := stream.Send(&pb.StreamProductRowsResponse{Rows: chunk}); err != nil {
				return err
			}
		}
		return nil
	})
}

// readRows reads at most left rows after an id, in batches.
func (s *Service) readRows(ctx context.Context, after int64, left int, take func([]*pb.ProductRow) error) error {
	for left > 0 {
		asked := min(left, rowsAQuery)
		rows, err := many(ctx, s.pool, rowOf, rowsSQL, after, asked)
		if err == nil {
			err = take(rows)
		}
		if err != nil || len(rows) < asked {
			return err
		}
		after, left = rows[len(rows)-1].ProductId, left-asked
	}
	return nil
}

// GetDocument returns a technical document.
func (s *Service) GetDocument(ctx context.Context, r *pb.GetDocumentRequest) (*pb.Document, error) {
	if err := validate.Identifier(r.Id, "id"); err != nil {
		return nil, err
	}
	document, err := s.document(ctx, r.Id)
	return shoperr.Existing(document, err, "document", r.Id)
}

// StreamDocument sends a document's sections in order.
func (s *Service) StreamDocument(r *pb.StreamDocumentRequest, stream pb.ProductService_StreamDocumentServer) error {
	document, err := s.GetDocument(stream.Context(), &pb.GetDocumentRequest{Id: r.Id})
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(document.Sections, sectionsAChunk) {
		if err := stream.Send(&pb.StreamDocumentResponse{Sections: chunk}); err != nil {
			return err
		}
	}
	return nil
}
