// The shop's services in Thrift: the protobuf contract, with its names and numbers. The protobuf contract (proto/shop) says
// what each method and field means. `make stubs` makes the Python and Go stubs from this file.
//
// - Every method takes headers (`authorization`, `traceparent` and so on) in addition to its request, since Thrift has no
//   headers. Over HTTP this map is empty and the headers are HTTP's.
// - An answer is one message, as Thrift has no streams: a method that streams over gRPC returns its first rows here, and
//   StreamDocument, which would be GetDocument, is not here.
// - A field mask is the list of its paths.
// - A scalar is written whenever it is set; Go's structs have no unset scalar, so Go writes empty ones too. Structs, lists
//   and scalars that no journey's answer needs are optional, so that neither language writes an absent one.

namespace py shop.stubs.thrift
namespace go shopthrift

// An amount of money.
struct Money {
  1: i64 amount_minor // in the minor unit of the currency
  2: string currency // ISO 4217
}

// A moment, as google.protobuf.Timestamp has it.
struct Timestamp {
  1: i64 seconds // since 1970-01-01T00:00:00Z
}

// A postal address.
struct Address {
  1: string recipient
  2: string street
  3: string city
  4: string postal_code
  5: string country_code // ISO 3166-1 alpha-2
}

// A product of the catalogue.
struct Product {
  1: i64 id
  2: string title
  3: string description
  4: string category
  5: optional Money price
  6: i64 stock // pieces that can be sold
}

// A page of the catalogue.
struct ListProductsResponse {
  1: optional list<Product> products
  2: optional string next_page_token
}

// One test of a technical document.
struct DocumentRecord {
  1: string text
  2: i64 count // pieces that were tested
  3: double value // in the unit of its section
  4: bool ok // whether the value is within its limits
  5: optional Timestamp at
  6: optional Money price
}

// The records of a technical document below one heading.
struct DocumentSection {
  1: string title
  2: optional list<DocumentRecord> records
}

// A technical document of the catalogue.
struct Document {
  1: i64 id
  2: optional list<DocumentSection> sections
}

// Products by their ids.
struct BatchGetProductsResponse {
  1: optional list<Product> products
}

// A review of a product.
struct Review {
  1: i64 id
  2: optional i64 product_id
  3: optional i64 user_id
  4: i32 rating // 1 to 5
  5: string title
  6: optional string body
}

// The reviews of one product.
struct ProductReviews {
  1: i64 product_id
  2: optional list<Review> reviews
}

// The reviews of several products.
struct BatchListReviewsResponse {
  1: optional list<ProductReviews> products
}

// A product and its first reviews.
struct ReviewedProduct {
  1: i64 id
  2: string title
  3: string description
  4: string category
  5: optional Money price
  6: i64 stock // pieces that can be sold
  7: optional list<Review> reviews
}

// Products and their reviews by the products' ids.
struct BatchGetProductsWithReviewsResponse {
  1: optional list<ReviewedProduct> products
}

// A page of the catalogue, with reviews.
struct ListProductsWithReviewsResponse {
  1: optional list<ReviewedProduct> products
  2: optional string next_page_token
}

// How far an order has come.
enum OrderStatus {
  ORDER_STATUS_UNSPECIFIED = 0
  ORDER_STATUS_PENDING = 1
  ORDER_STATUS_CONFIRMED = 2
  ORDER_STATUS_SHIPPED = 3
  ORDER_STATUS_DELIVERED = 4
  ORDER_STATUS_CANCELLED = 5
  ORDER_STATUS_FAILED = 6
}

// One product of an order.
struct OrderLine {
  1: optional i64 id
  2: i32 line_number // place in the order, from 1
  3: i64 product_id
  4: i32 quantity
  5: optional Money unit_price
}

// What one user bought at one time.
struct Order {
  1: i64 id
  2: i64 user_id
  3: OrderStatus status
  4: optional Timestamp create_time
  5: optional Money total
  6: optional list<OrderLine> lines
}

// Orders of one user, newest first.
struct ListOrdersByUserResponse {
  1: optional list<Order> orders
  2: optional string next_page_token
}

// An order line together with what it needs of its order.
struct JoinedOrderLine {
  1: i64 id
  2: i64 order_id
  3: i64 user_id
  4: OrderStatus status
  5: optional Timestamp create_time
  6: i64 product_id
  7: i32 quantity
  8: optional Money unit_price
}

// Order lines by ascending id.
struct StreamOrderLinesResponse {
  1: optional list<JoinedOrderLine> lines
}

// How far a payment has come.
enum PaymentStatus {
  PAYMENT_STATUS_UNSPECIFIED = 0
  PAYMENT_STATUS_AUTHORIZED = 1
  PAYMENT_STATUS_CAPTURED = 2
  PAYMENT_STATUS_VOIDED = 3
  PAYMENT_STATUS_DECLINED = 4
}

// How an order is paid.
struct Payment {
  1: optional i64 id
  2: optional string checkout_id
  3: i64 order_id
  4: PaymentStatus status
  5: optional Money amount
  6: optional Timestamp create_time
  7: optional i64 user_id
}

// Payments by their orders.
struct BatchGetPaymentsByOrderResponse {
  1: optional list<Payment> payments
}

// A customer of the shop.
struct User {
  1: i64 id
  2: string email
  3: string name
  4: optional Address address
}

// What a successful login gives.
struct LoginResponse {
  1: string token
  2: optional User user
}

// Users by their ids.
struct BatchGetUsersResponse {
  1: optional list<User> users
}

// A page of users.
struct ListUsersResponse {
  1: optional list<User> users
  2: optional string next_page_token
}

// Orders by their ids.
struct BatchGetOrdersResponse {
  1: optional list<Order> orders
}

// One line of a reservation.
struct ReservedLine {
  1: i64 product_id
  2: i32 quantity
  3: optional Money unit_price
}

// How far a reservation has come.
enum ReservationState {
  RESERVATION_STATE_UNSPECIFIED = 0
  RESERVATION_STATE_HELD = 1
  RESERVATION_STATE_CONFIRMED = 2
  RESERVATION_STATE_RELEASED = 3
}

// Stock held for one checkout.
struct Reservation {
  1: string id
  2: ReservationState state
  3: optional list<ReservedLine> lines
}

// A product at the size of an order line.
struct ProductRow {
  1: i64 product_id
  2: string title
  3: optional Money price
  4: i64 stock
}

// Products by ascending id.
struct StreamProductRowsResponse {
  1: optional list<ProductRow> rows
}

struct GetDocumentRequest {
  1: i64 id
}

struct GetProductRequest {
  1: i64 id
}

struct BatchGetProductsRequest {
  1: optional list<i64> ids
}

struct ListProductsRequest {
  1: i32 page_size
  2: string page_token
  3: string category
}

struct CreateProductRequest {
  1: optional Product product
}

struct UpdateProductRequest {
  1: optional Product product
  2: optional list<string> update_mask
  3: optional Product expected
}

struct DeleteProductRequest {
  1: i64 id
  2: optional Product expected
}

struct BatchListReviewsRequest {
  1: optional list<i64> product_ids
  2: i32 limit
}

struct BatchGetProductsWithReviewsRequest {
  1: optional list<i64> ids
  2: i32 review_limit // of each product, 1 to 20; 0 means 3
}

struct ListProductsWithReviewsRequest {
  1: i32 page_size
  2: string page_token
  3: string category
  4: i32 review_limit // of each product, 1 to 20; 0 means 3
}

struct StockLine {
  1: i64 product_id
  2: i32 quantity
}

struct ReserveStockRequest {
  1: string reservation_id
  2: optional list<StockLine> lines
}

struct ConfirmReservationRequest {
  1: string reservation_id
}

struct ReleaseReservationRequest {
  1: string reservation_id
}

struct StreamProductRowsRequest {
  1: i64 after_product_id
  2: i32 limit // 1 to 10,000; 0 means 1,000
}

struct LoginRequest {
  1: string email
  2: string password
}

struct GetUserRequest {
  1: i64 id
}

struct BatchGetUsersRequest {
  1: optional list<i64> ids
}

struct ListUsersRequest {
  1: i32 page_size
  2: string page_token
}

struct CreateUserRequest {
  1: optional User user
  2: string password
}

struct UpdateUserRequest {
  1: optional User user
  2: optional list<string> update_mask
  3: optional User expected
}

struct DeleteUserRequest {
  1: i64 id
  2: optional User expected
}

struct CheckoutLine {
  1: i64 product_id
  2: i32 quantity
}

struct CheckoutRequest {
  1: i64 user_id
  2: optional list<CheckoutLine> lines
  3: string payment_token
  4: string idempotency_key
}

struct GetOrderRequest {
  1: i64 id
}

struct BatchGetOrdersRequest {
  1: optional list<i64> ids
}

struct ListOrdersByUserRequest {
  1: i64 user_id
  2: i32 page_size
  3: string page_token
}

struct UpdateOrderStatusRequest {
  1: i64 id
  2: OrderStatus status
}

struct CancelOrderRequest {
  1: i64 id
}

struct StreamOrderLinesRequest {
  1: i64 after_line_id
  2: i32 limit // 1 to 10,000; 0 means 1,000
}

struct AuthorizePaymentRequest {
  1: string checkout_id
  2: optional Money amount
  3: string payment_token
  4: i64 user_id
}

struct CapturePaymentRequest {
  1: string checkout_id
  2: i64 order_id
}

struct VoidPaymentRequest {
  1: string checkout_id
}

struct GetPaymentRequest {
  1: i64 id
}

struct BatchGetPaymentsByOrderRequest {
  1: optional list<i64> order_ids
}

// Why a call failed.
exception ShopError {
  1: string code // one of the closed list of errors: "NOT_FOUND"
  2: string message
  3: optional string field // the argument at fault
  4: optional i32 retry_after_s // after how long a repetition may work
}

// Reads and changes the catalogue and its stock.
service ProductService {
  Product GetProduct(1: map<string, string> headers, 2: GetProductRequest request) throws (1: ShopError error)
  BatchGetProductsResponse BatchGetProducts(1: map<string, string> headers, 2: BatchGetProductsRequest request) throws (1: ShopError error)
  ListProductsResponse ListProducts(1: map<string, string> headers, 2: ListProductsRequest request) throws (1: ShopError error)
  Product CreateProduct(1: map<string, string> headers, 2: CreateProductRequest request) throws (1: ShopError error)
  Product UpdateProduct(1: map<string, string> headers, 2: UpdateProductRequest request) throws (1: ShopError error)
  void DeleteProduct(1: map<string, string> headers, 2: DeleteProductRequest request) throws (1: ShopError error)
  BatchListReviewsResponse BatchListReviews(1: map<string, string> headers, 2: BatchListReviewsRequest request) throws (1: ShopError error)
  BatchGetProductsWithReviewsResponse BatchGetProductsWithReviews(1: map<string, string> headers, 2: BatchGetProductsWithReviewsRequest request) throws (1: ShopError error)
  ListProductsWithReviewsResponse ListProductsWithReviews(1: map<string, string> headers, 2: ListProductsWithReviewsRequest request) throws (1: ShopError error)
  Reservation ReserveStock(1: map<string, string> headers, 2: ReserveStockRequest request) throws (1: ShopError error)
  Reservation ConfirmReservation(1: map<string, string> headers, 2: ConfirmReservationRequest request) throws (1: ShopError error)
  Reservation ReleaseReservation(1: map<string, string> headers, 2: ReleaseReservationRequest request) throws (1: ShopError error)
  Document GetDocument(1: map<string, string> headers, 2: GetDocumentRequest request) throws (1: ShopError error)
  StreamProductRowsResponse StreamProductRows(1: map<string, string> headers, 2: StreamProductRowsRequest request) throws (1: ShopError error)
}

// Reads and changes users, and lets them log in.
service UserService {
  LoginResponse Login(1: map<string, string> headers, 2: LoginRequest request) throws (1: ShopError error)
  User GetUser(1: map<string, string> headers, 2: GetUserRequest request) throws (1: ShopError error)
  BatchGetUsersResponse BatchGetUsers(1: map<string, string> headers, 2: BatchGetUsersRequest request) throws (1: ShopError error)
  ListUsersResponse ListUsers(1: map<string, string> headers, 2: ListUsersRequest request) throws (1: ShopError error)
  User CreateUser(1: map<string, string> headers, 2: CreateUserRequest request) throws (1: ShopError error)
  User UpdateUser(1: map<string, string> headers, 2: UpdateUserRequest request) throws (1: ShopError error)
  void DeleteUser(1: map<string, string> headers, 2: DeleteUserRequest request) throws (1: ShopError error)
}

// Checks out, reads and changes orders.
service OrderService {
  Order Checkout(1: map<string, string> headers, 2: CheckoutRequest request) throws (1: ShopError error)
  Order GetOrder(1: map<string, string> headers, 2: GetOrderRequest request) throws (1: ShopError error)
  BatchGetOrdersResponse BatchGetOrders(1: map<string, string> headers, 2: BatchGetOrdersRequest request) throws (1: ShopError error)
  ListOrdersByUserResponse ListOrdersByUser(1: map<string, string> headers, 2: ListOrdersByUserRequest request) throws (1: ShopError error)
  Order UpdateOrderStatus(1: map<string, string> headers, 2: UpdateOrderStatusRequest request) throws (1: ShopError error)
  Order CancelOrder(1: map<string, string> headers, 2: CancelOrderRequest request) throws (1: ShopError error)
  StreamOrderLinesResponse StreamOrderLines(1: map<string, string> headers, 2: StreamOrderLinesRequest request) throws (1: ShopError error)
}

// Authorises, captures, voids and reads payments.
service PaymentService {
  Payment AuthorizePayment(1: map<string, string> headers, 2: AuthorizePaymentRequest request) throws (1: ShopError error)
  Payment CapturePayment(1: map<string, string> headers, 2: CapturePaymentRequest request) throws (1: ShopError error)
  Payment VoidPayment(1: map<string, string> headers, 2: VoidPaymentRequest request) throws (1: ShopError error)
  Payment GetPayment(1: map<string, string> headers, 2: GetPaymentRequest request) throws (1: ShopError error)
  BatchGetPaymentsByOrderResponse BatchGetPaymentsByOrder(1: map<string, string> headers, 2: BatchGetPaymentsByOrderRequest request) throws (1: ShopError error)
}
