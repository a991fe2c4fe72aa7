"""Generated from proto/ by `make stubs`; never edited by hand."""

from datetime import UTC
from datetime import datetime
from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from shop.money import Money
from shop.stubs.product.v1 import product_pb2
from shop.stubs.type.v1 import money_pb2
from shop.values.mask import check_mask
from shop.values.page import Page
from shop.values.product import Document
from shop.values.product import DocumentRecord
from shop.values.product import DocumentSection
from shop.values.product import Product
from shop.values.product import ProductRow
from shop.values.product import Reservation
from shop.values.product import ReservationState
from shop.values.product import ReservedLine
from shop.values.product import Review
from shop.values.product import ReviewedProduct
from shop.values.product import StockLine

RESERVATION_STATE_NUMBERS = {ReservationState.HELD: 1, ReservationState.CONFIRMED: 2, ReservationState.RELEASED: 3}
RESERVATION_STATE_VALUES = {number: value for value, number in RESERVATION_STATE_NUMBERS.items()}


def request_get_product(product_id):
    return product_pb2.GetProductRequest(id=product_id)


def call_get_product(method, request):
    return method(request.id)


def encode_money(value):
    return money_pb2.Money(amount_minor=value.amount_minor, currency=value.currency)


def decode_money(message):
    return Money(message.amount_minor, message.currency)


def encode_product(value):
    return product_pb2.Product(id=value.id, title=value.title, description=value.description, category=value.category, price=encode_money(value.price), stock=value.stock)


def decode_product(message):
    return Product(message.id, message.title, message.description, message.category, decode_money(message.price), message.stock)


def request_batch_get_products(ids):
    return product_pb2.BatchGetProductsRequest(ids=ids)


def call_batch_get_products(method, request):
    return method(request.ids)


def decode_batch_get_products_response(message):
    return list(map(decode_product, message.products))


def encode_batch_get_products_response(value):
    return product_pb2.BatchGetProductsResponse(products=map(encode_product, value))


def request_list_products(*, page_size=0, page_token='', category=''):
    return product_pb2.ListProductsRequest(page_size=page_size, page_token=page_token, category=category)


def call_list_products(method, request):
    return method(page_size=request.page_size, page_token=request.page_token, category=request.category)


def decode_list_products_response(message):
    return Page(tuple(map(decode_product, message.products)), message.next_page_token)


def encode_list_products_response(value):
    return product_pb2.ListProductsResponse(products=map(encode_product, value.items), next_page_token=value.next_page_token)


def request_create_product(*, title, description, category, price, stock):
    return product_pb2.CreateProductRequest(product=product_pb2.Product(title=title, description=description, category=category, price=encode_money(price), stock=stock))


def call_create_product(method, request):
    product = request.product
    return method(title=product.title, description=product.description, category=product.category, price=decode_money(product.price), stock=product.stock)


def request_update_product(product_id, *, expected=None, title=None, description=None, category=None, price=None, stock=None):
    return product_pb2.UpdateProductRequest(expected=None if expected is None else encode_product(expected), product=product_pb2.Product(id=product_id, title=title, description=description, category=category, price=None if price is None else encode_money(price), stock=stock), update_mask=FieldMask(paths=[name for name, value in (("title", title), ("description", description), ("category", category), ("price", price), ("stock", stock)) if value is not None]))


def call_update_product(method, request):
    product = request.product
    paths = check_mask(request.update_mask.paths, ("title", "description", "category", "price", "stock"))
    return method(product.id, expected=decode_product(request.expected) if request.HasField("expected") else None, title=product.title if "title" in paths else None, description=product.description if "description" in paths else None, category=product.category if "category" in paths else None, price=decode_money(product.price) if "price" in paths else None, stock=product.stock if "stock" in paths else None)


def request_delete_product(product_id, *, expected=None):
    return product_pb2.DeleteProductRequest(id=product_id, expected=None if expected is None else encode_product(expected))


def call_delete_product(method, request):
    return method(request.id, expected=decode_product(request.expected) if request.HasField("expected") else None)


def decode_empty(message):
    return None


def encode_empty(value):
    return Empty()


def request_batch_list_reviews(product_ids, *, limit=0):
    return product_pb2.BatchListReviewsRequest(product_ids=product_ids, limit=limit)


def call_batch_list_reviews(method, request):
    return method(request.product_ids, limit=request.limit)


def encode_review(value):
    return product_pb2.Review(id=value.id, product_id=value.product_id, user_id=value.user_id, rating=value.rating, title=value.title, body=value.body)


def decode_review(message):
    return Review(message.id, message.product_id, message.user_id, message.rating, message.title, message.body)


def decode_batch_list_reviews_response(message):
    return {entry.product_id: tuple(map(decode_review, entry.reviews)) for entry in message.products}


def encode_batch_list_reviews_response(value):
    return product_pb2.BatchListReviewsResponse(products=[product_pb2.ProductReviews(product_id=key, reviews=map(encode_review, some)) for key, some in value.items()])


def request_batch_get_products_with_reviews(ids, *, review_limit=0):
    return product_pb2.BatchGetProductsWithReviewsRequest(ids=ids, review_limit=review_limit)


def call_batch_get_products_with_reviews(method, request):
    return method(request.ids, review_limit=request.review_limit)


def encode_reviewed_product(value):
    return product_pb2.ReviewedProduct(id=value.id, title=value.title, description=value.description, category=value.category, price=encode_money(value.price), stock=value.stock, reviews=map(encode_review, value.reviews))


def decode_reviewed_product(message):
    return ReviewedProduct(message.id, message.title, message.description, message.category, decode_money(message.price), message.stock, tuple(map(decode_review, message.reviews)))


def decode_batch_get_products_with_reviews_response(message):
    return list(map(decode_reviewed_product, message.products))


def encode_batch_get_products_with_reviews_response(value):
    return product_pb2.BatchGetProductsWithReviewsResponse(products=map(encode_reviewed_product, value))


def request_list_products_with_reviews(*, page_size=0, page_token='', category='', review_limit=0):
    return product_pb2.ListProductsWithReviewsRequest(page_size=page_size, page_token=page_token, category=category, review_limit=review_limit)


def call_list_products_with_reviews(method, request):
    return method(page_size=request.page_size, page_token=request.page_token, category=request.category, review_limit=request.review_limit)


def decode_list_products_with_reviews_response(message):
    return Page(tuple(map(decode_reviewed_product, message.products)), message.next_page_token)


def encode_list_products_with_reviews_response(value):
    return product_pb2.ListProductsWithReviewsResponse(products=map(encode_reviewed_product, value.items), next_page_token=value.next_page_token)


def encode_stock_line(value):
    return product_pb2.StockLine(product_id=value.product_id, quantity=value.quantity)


def decode_stock_line(message):
    return StockLine(message.product_id, message.quantity)


def request_reserve_stock(reservation_id, lines):
    return product_pb2.ReserveStockRequest(reservation_id=reservation_id, lines=map(encode_stock_line, lines))


def call_reserve_stock(method, request):
    return method(request.reservation_id, list(map(decode_stock_line, request.lines)))


def encode_reserved_line(value):
    return product_pb2.ReservedLine(product_id=value.product_id, quantity=value.quantity, unit_price=encode_money(value.unit_price))


def decode_reserved_line(message):
    return ReservedLine(message.product_id, message.quantity, decode_money(message.unit_price))


def encode_reservation(value):
    return product_pb2.Reservation(id=value.id, state=RESERVATION_STATE_NUMBERS[value.state], lines=map(encode_reserved_line, value.lines))


def decode_reservation(message):
    return Reservation(message.id, RESERVATION_STATE_VALUES[message.state], tuple(map(decode_reserved_line, message.lines)))


def request_confirm_reservation(reservation_id):
    return product_pb2.ConfirmReservationRequest(reservation_id=reservation_id)


def call_confirm_reservation(method, request):
    return method(request.reservation_id)


def request_release_reservation(reservation_id):
    return product_pb2.ReleaseReservationRequest(reservation_id=reservation_id)


def call_release_reservation(method, request):
    return method(request.reservation_id)


def request_stream_product_rows(*, after_product_id=0, limit=0):
    return product_pb2.StreamProductRowsRequest(after_product_id=after_product_id, limit=limit)


def call_stream_product_rows(method, request):
    return method(after_product_id=request.after_product_id, limit=request.limit)


def encode_product_row(value):
    return product_pb2.ProductRow(product_id=value.product_id, title=value.title, price=encode_money(value.price), stock=value.stock)


def decode_product_row(message):
    return ProductRow(message.product_id, message.title, decode_money(message.price), message.stock)


def decode_stream_product_rows_response(message):
    return map(decode_product_row, message.rows)


def encode_stream_product_rows_response(value):
    return product_pb2.StreamProductRowsResponse(rows=map(encode_product_row, value))


def request_get_document(document_id):
    return product_pb2.GetDocumentRequest(id=document_id)


def call_get_document(method, request):
    return method(request.id)


def encode_document_record(value):
    return product_pb2.DocumentRecord(text=value.text, count=value.count, value=value.value, ok=value.ok, at=None if value.at is None else Timestamp(seconds=int(value.at.timestamp())), price=None if value.price is None else encode_money(value.price))


def decode_document_record(message):
    return DocumentRecord(message.text, message.count, message.value, message.ok, datetime.fromtimestamp(message.at.seconds, UTC) if message.HasField("at") else None, decode_money(message.price) if message.HasField("price") else None)


def encode_document_section(value):
    return product_pb2.DocumentSection(title=value.title, records=map(encode_document_record, value.records))


def decode_document_section(message):
    return DocumentSection(message.title, tuple(map(decode_document_record, message.records)))


def encode_document(value):
    return product_pb2.Document(id=value.id, sections=map(encode_document_section, value.sections))


def decode_document(message):
    return Document(message.id, tuple(map(decode_document_section, message.sections)))


def request_stream_document(document_id):
    return product_pb2.StreamDocumentRequest(id=document_id)


def call_stream_document(method, request):
    return method(request.id)


def decode_stream_document_response(message):
    return map(decode_document_section, message.sections)


def encode_stream_document_response(value):
    return product_pb2.StreamDocumentResponse(sections=map(encode_document_section, value))

CALLS = {
    "GetProduct": (product_pb2.GetProductRequest, product_pb2.Product, request_get_product, call_get_product, encode_product, decode_product, {'product_id': 'id'}),
    "BatchGetProducts": (product_pb2.BatchGetProductsRequest, product_pb2.BatchGetProductsResponse, request_batch_get_products, call_batch_get_products, encode_batch_get_products_response, decode_batch_get_products_response, {}),
    "ListProducts": (product_pb2.ListProductsRequest, product_pb2.ListProductsResponse, request_list_products, call_list_products, encode_list_products_response, decode_list_products_response, {}),
    "CreateProduct": (product_pb2.CreateProductRequest, product_pb2.Product, request_create_product, call_create_product, encode_product, decode_product, {'title': 'product.title', 'description': 'product.description', 'category': 'product.category', 'price': 'product.price', 'stock': 'product.stock'}),
    "UpdateProduct": (product_pb2.UpdateProductRequest, product_pb2.Product, request_update_product, call_update_product, encode_product, decode_product, {'product_id': 'product.id', 'title': 'product.title', 'description': 'product.description', 'category': 'product.category', 'price': 'product.price', 'stock': 'product.stock'}),
    "DeleteProduct": (product_pb2.DeleteProductRequest, Empty, request_delete_product, call_delete_product, encode_empty, decode_empty, {'product_id': 'id'}),
    "BatchListReviews": (product_pb2.BatchListReviewsRequest, product_pb2.BatchListReviewsResponse, request_batch_list_reviews, call_batch_list_reviews, encode_batch_list_reviews_response, decode_batch_list_reviews_response, {}),
    "BatchGetProductsWithReviews": (product_pb2.BatchGetProductsWithReviewsRequest, product_pb2.BatchGetProductsWithReviewsResponse, request_batch_get_products_with_reviews, call_batch_get_products_with_reviews, encode_batch_get_products_with_reviews_response, decode_batch_get_products_with_reviews_response, {}),
    "ListProductsWithReviews": (product_pb2.ListProductsWithReviewsRequest, product_pb2.ListProductsWithReviewsResponse, request_list_products_with_reviews, call_list_products_with_reviews, encode_list_products_with_reviews_response, decode_list_products_with_reviews_response, {}),
    "ReserveStock": (product_pb2.ReserveStockRequest, product_pb2.Reservation, request_reserve_stock, call_reserve_stock, encode_reservation, decode_reservation, {}),
    "ConfirmReservation": (product_pb2.ConfirmReservationRequest, product_pb2.Reservation, request_confirm_reservation, call_confirm_reservation, encode_reservation, decode_reservation, {}),
    "ReleaseReservation": (product_pb2.ReleaseReservationRequest, product_pb2.Reservation, request_release_reservation, call_release_reservation, encode_reservation, decode_reservation, {}),
    "StreamProductRows": (product_pb2.StreamProductRowsRequest, product_pb2.StreamProductRowsResponse, request_stream_product_rows, call_stream_product_rows, encode_stream_product_rows_response, decode_stream_product_rows_response, {}),
    "GetDocument": (product_pb2.GetDocumentRequest, product_pb2.Document, request_get_document, call_get_document, encode_document, decode_document, {'document_id': 'id'}),
    "StreamDocument": (product_pb2.StreamDocumentRequest, product_pb2.StreamDocumentResponse, request_stream_document, call_stream_document, encode_stream_document_response, decode_stream_document_response, {'document_id': 'id'}),
}
