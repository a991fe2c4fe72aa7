package shoptest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"hopwise/load/internal/shopdata"
	"hopwise/proto/stubs/notificationv1"
	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/proto/stubs/userv1"
)

// chunk is the number of lines in a message of the bulk read.
const chunk = 250

// newRPC returns the services over gRPC, to be served by net/http.
func (s *Shop) newRPC() *grpc.Server {
	bend := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, request)
		if asks, ok := request.(interface{ GetReadMask() *fieldmaskpb.FieldMask }); ok && asks.GetReadMask() != nil && err == nil {
			keepFields(answer.(proto.Message).ProtoReflect(), asks.GetReadMask().GetPaths())
		}
		if message, ok := answer.(proto.Message); ok && err == nil && s.BendRPC != nil {
			s.BendRPC(message)
		}
		return answer, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(bend))
	for _, each := range []service{
		{productv1.ProductService_ServiceDesc, rpcProduct{}},
		{orderv1.OrderService_ServiceDesc, rpcOrder{shop: s}},
		{userv1.UserService_ServiceDesc, rpcUser{}},
		{paymentv1.PaymentService_ServiceDesc, rpcPayment{}},
		{notificationv1.NotificationService_ServiceDesc, rpcNotification{shop: s}},
	} {
		server.RegisterService(&each.desc, each.server)
		s.services[each.desc.ServiceName] = each
	}
	s.browsers = s.browserHandlers(bend)
	return server
}

// keepFields keeps only some fields of a resource, or of all resources in an answer's list.
func keepFields(answer protoreflect.Message, names []string) {
	answer.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if list := string(field.Name()); list == "products" || list == "orders" {
			for i := range value.List().Len() {
				keepFields(value.List().Get(i).Message(), names)
			}
		} else if !slices.Contains(names, list) {
			answer.Clear(field)
		}
		return true
	})
}

// service is one of the gRPC services.
type service struct {
	desc   grpc.ServiceDesc
	server any
}

func isRPC(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// serveRPC answers an RPC whose body has been read.
func (s *Shop) serveRPC(w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.rpc.ServeHTTP(w, r)
}

type rpcProduct struct {
	productv1.UnimplementedProductServiceServer
}

func (rpcProduct) GetProduct(_ context.Context, r *productv1.GetProductRequest) (*productv1.Product, error) {
	return protoProduct(r.Id), nil
}

func (rpcProduct) BatchGetProducts(_ context.Context, r *productv1.BatchGetProductsRequest) (*productv1.BatchGetProductsResponse, error) {
	return &productv1.BatchGetProductsResponse{Products: mapped(r.Ids, protoProduct)}, nil
}

func (rpcProduct) ListProducts(_ context.Context, r *productv1.ListProductsRequest) (*productv1.ListProductsResponse, error) {
	return &productv1.ListProductsResponse{Products: mapped(productsOf(r.Category, int64(r.PageSize)), protoProduct)}, nil
}

func (rpcProduct) ListProductsWithReviews(
	_ context.Context, r *productv1.ListProductsWithReviewsRequest,
) (*productv1.ListProductsWithReviewsResponse, error) {
	return &productv1.ListProductsWithReviewsResponse{Products: mapped(productsOf(r.Category, int64(r.PageSize)), protoReviewed)}, nil
}

func (rpcProduct) BatchListReviews(_ context.Context, r *productv1.BatchListReviewsRequest) (*productv1.BatchListReviewsResponse, error) {
	return &productv1.BatchListReviewsResponse{Products: mapped(r.ProductIds, func(id int64) *productv1.ProductReviews {
		return &productv1.ProductReviews{ProductId: id, Reviews: protoReviewed(id).Reviews}
	})}, nil
}

func (rpcProduct) GetDocument(_ context.Context, r *productv1.GetDocumentRequest) (*productv1.Document, error) {
	return &productv1.Document{Id: r.Id, Sections: protoSections(r.Id)}, nil
}

func (rpcProduct) StreamDocument(r *productv1.StreamDocumentRequest, stream grpc.ServerStreamingServer[productv1.StreamDocumentResponse]) error {
	return stream.Send(&productv1.StreamDocumentResponse{Sections: protoSections(r.Id)})
}

type rpcOrder struct {
	orderv1.UnimplementedOrderServiceServer
	shop *Shop
}

func (o rpcOrder) Checkout(_ context.Context, r *orderv1.CheckoutRequest) (*orderv1.Order, error) {
	if r.IdempotencyKey == "" {
		return nil, status.Error(codes.InvalidArgument, "idempotency_key is empty")
	}
	var lines [][2]int64
	for _, line := range r.Lines {
		lines = append(lines, [2]int64{line.ProductId, int64(line.Quantity)})
	}
	order := protoOrder(10000+o.shop.orders.Add(1), r.UserId, lines)
	order.Status = orderv1.OrderStatus_ORDER_STATUS_CONFIRMED
	return order, nil
}

func (rpcOrder) GetOrder(_ context.Context, r *orderv1.GetOrderRequest) (*orderv1.Order, error) {
	return protoOrder(r.Id, 1, linesOf(r.Id)), nil
}

func (rpcOrder) ListOrdersByUser(_ context.Context, r *orderv1.ListOrdersByUserRequest) (*orderv1.ListOrdersByUserResponse, error) {
	ids := scale.OrdersOfRegular(r.UserId)
	return &orderv1.ListOrdersByUserResponse{Orders: mapped(ids[:], func(id int64) *orderv1.Order {
		return protoOrder(id, r.UserId, linesOf(id))
	})}, nil
}

func (rpcOrder) StreamOrderLines(r *orderv1.StreamOrderLinesRequest, stream grpc.ServerStreamingServer[orderv1.StreamOrderLinesResponse]) error {
	lines := mapped(page(r.AfterLineId), protoBulkLine)
	for len(lines) > 0 {
		count := min(chunk, len(lines))
		if err := stream.Send(&orderv1.StreamOrderLinesResponse{Lines: lines[:count]}); err != nil {
			return err
		}
		lines = lines[count:]
	}
	return nil
}

type rpcUser struct {
	userv1.UnimplementedUserServiceServer
}

func (rpcUser) Login(_ context.Context, r *userv1.LoginRequest) (*userv1.LoginResponse, error) {
	id := userOf(r.Email)
	return &userv1.LoginResponse{Token: "fake-token-" + strconv.FormatInt(id, 10), User: protoUser(id)}, nil
}

func (rpcUser) GetUser(ctx context.Context, r *userv1.GetUserRequest) (*userv1.User, error) {
	caller, _ := metadata.FromIncomingContext(ctx)
	if subject(http.Header{"Authorization": caller.Get("authorization")}) != r.Id {
		return nil, status.Error(codes.PermissionDenied, "somebody else's profile")
	}
	return protoUser(r.Id), nil
}

func (rpcUser) UpdateUser(_ context.Context, r *userv1.UpdateUserRequest) (*userv1.User, error) {
	user := protoUser(r.User.Id)
	user.Address = r.User.Address
	return user, nil
}

type rpcPayment struct {
	paymentv1.UnimplementedPaymentServiceServer
}

func (rpcPayment) BatchGetPaymentsByOrder(
	_ context.Context, r *paymentv1.BatchGetPaymentsByOrderRequest,
) (*paymentv1.BatchGetPaymentsByOrderResponse, error) {
	return &paymentv1.BatchGetPaymentsByOrderResponse{Payments: mapped(r.OrderIds, protoPayment)}, nil
}

func mapped[From, To any](from []From, make func(From) To) []To {
	all := []To{}
	for _, each := range from {
		all = append(all, make(each))
	}
	return all
}

func protoMoney(minor int64) *typev1.Money { return &typev1.Money{AmountMinor: minor, Currency: "EUR"} }

func protoTime() *timestamppb.Timestamp {
	at, _ := time.Parse(time.RFC3339, placedAt)
	return timestamppb.New(at)
}

// Product returns the shop's answer to GetProduct over gRPC.
func Product(id int64) *productv1.Product { return protoProduct(id) }

func protoProduct(id int64) *productv1.Product {
	return &productv1.Product{
		Id: id, Title: titleOf(id), Description: "Described", Category: shopdata.CategoryOf(id), Price: protoMoney(priceOf(id)), Stock: 1000 + id,
	}
}

func protoReviewed(id int64) *productv1.ReviewedProduct {
	p, ids := protoProduct(id), shopdata.ReviewIDs(id)
	return &productv1.ReviewedProduct{
		Id: p.Id, Title: p.Title, Description: p.Description, Category: p.Category, Price: p.Price, Stock: p.Stock,
		Reviews: mapped(ids[:], func(review int64) *productv1.Review {
			return &productv1.Review{Id: review, ProductId: id, UserId: 1, Rating: int32(1 + review%5), Title: "Good", Body: "Very"}
		}),
	}
}

func protoSections(id int64) []*productv1.DocumentSection {
	section := &productv1.DocumentSection{Title: "Use"}
	for _, r := range documentOf(id).Sections[0].Records {
		record := &productv1.DocumentRecord{Text: r.Text, Count: r.Count, Value: r.Value, Ok: r.OK}
		if r.Price != nil {
			record.At, record.Price = protoTime(), protoMoney(r.Price.AmountMinor)
		}
		section.Records = append(section.Records, record)
	}
	return []*productv1.DocumentSection{section}
}

func protoUser(id int64) *userv1.User {
	a := addressOf(id)
	return &userv1.User{Id: id, Email: shopdata.Email(id), Name: "Name", Address: &typev1.Address{
		Recipient: a[0], Street: a[1], City: a[2], PostalCode: a[3], CountryCode: a[4],
	}}
}

func protoOrder(id, user int64, lines [][2]int64) *orderv1.Order {
	o := &orderv1.Order{
		Id: id, UserId: user, Status: orderv1.OrderStatus_ORDER_STATUS_SHIPPED, CreateTime: protoTime(), Total: protoMoney(totalOf(lines)),
	}
	for i, line := range lines {
		o.Lines = append(o.Lines, &orderv1.OrderLine{
			Id: id*10 + int64(i), LineNumber: int32(i + 1), ProductId: line[0], Quantity: int32(line[1]), UnitPrice: protoMoney(priceOf(line[0])),
		})
	}
	return o
}

func protoPayment(order int64) *paymentv1.Payment {
	return &paymentv1.Payment{
		Id: order, OrderId: order, Status: paymentv1.PaymentStatus_PAYMENT_STATUS_CAPTURED, Amount: protoMoney(totalOf(linesOf(order))),
	}
}

func protoBulkLine(id int64) *orderv1.JoinedOrderLine {
	return &orderv1.JoinedOrderLine{
		Id: id, OrderId: orderOfLine(id), UserId: 5, Status: orderv1.OrderStatus_ORDER_STATUS_DELIVERED, CreateTime: protoTime(),
		ProductId: id%8000 + 1, Quantity: 1, UnitPrice: protoMoney(priceOf(id%8000 + 1)),
	}
}
