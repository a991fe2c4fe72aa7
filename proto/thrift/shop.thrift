// The answers of the shop's journeys in Thrift: the structs and fields of the protobuf contract that they need, with the
// contract's names and numbers. `make stubs` makes the Python and Go stubs from this file.
//
// A scalar is written whenever it is set; Go's structs have no unset scalar, so Go writes empty ones too. Structs and
// lists are optional, so that neither language writes an absent one.

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
  4: i32 rating // 1 to 5
  5: string title
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
  3: i64 order_id
  4: PaymentStatus status
  5: optional Money amount
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
