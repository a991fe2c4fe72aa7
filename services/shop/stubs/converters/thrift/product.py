"""Generated from proto/ by `make stubs`; never edited by hand."""

from datetime import UTC
from datetime import datetime
from shop.money import Money
from shop.stubs.thrift import ttypes
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
    return ttypes.GetProductRequest(product_id)


def call_get_product(method, request):
    return method(request.id)


def encode_money(value):
    return ttypes.Money(value.amount_minor, value.currency)


def decode_money(message):
    return Money(message.amount_minor, message.currency)


def encode_product(value):
    return ttypes.Product(value.id, value.title, value.description, value.category, encode_money(value.price), value.stock)


def decode_product(message):
    return Product(message.id, message.title, message.description, message.category, decode_money(message.price), message.stock)


def request_batch_get_products(ids):
    return ttypes.BatchGetProductsRequest(list(ids))


def call_batch_get_products(method, request):
    return method(request.ids)


def decode_batch_get_products_response(message):
    return list(map(decode_product, message.products))


def encode_batch_get_products_response(value):
    return ttypes.BatchGetProductsResponse(list(map(encode_product, value)))


def request_list_products(*, page_size=0, page_token='', category=''):
    return ttypes.ListProductsRequest(page_size, page_token, category)


def call_list_products(method, request):
    return method(page_size=request.page_size, page_token=request.page_token, category=request.category)


def decode_list_products_response(message):
    return Page(tuple(map(decode_product, message.products)), message.next_page_token)


def encode_list_products_response(value):
    return ttypes.ListProductsResponse(list(map(encode_product, value.items)), value.next_page_token)


def request_create_product(*, title, description, category, price, stock):
    return ttypes.CreateProductRequest(ttypes.Product(None, title, description, category, encode_money(price), stock))


def call_create_product(method, request):
    product = request.product
    return method(title=product.title, description=product.description, category=product.category, price=decode_money(product.price), stock=product.stock)


def request_update_product(product_id, *, expected=None, title=None, description=None, category=None, price=None, stock=None):
    return ttypes.UpdateProductRequest(ttypes.Product(product_id, title, description, category, None if price is None else encode_money(price), stock), [name for name, value in (("title", title), ("description", description), ("category", category), ("price", price), ("stock", stock)) if value is not None], None if expected is None else encode_product(expected))


def call_update_product(method, request):
    product = request.product
    paths = check_mask(request.update_mask, ("title", "description", "category", "price", "stock"))
    return method(product.id, expected=decode_product(request.expected) if request.expected is not None else None, title=product.title if "title" in paths else None, description=product.description if "description" in paths else None, category=product.category if "category" in paths else None, price=decode_money(product.price) if "price" in paths else None, stock=product.stock if "stock" in paths else None)


def request_delete_product(product_id, *, expected=None):
    return ttypes.DeleteProductRequest(product_id, None if expected is None else encode_product(expected))


def call_delete_product(method, request):
    return method(request.id, expected=decode_product(request.expected) if request.expected is not None else None)


def decode_empty(message):
    return None


def request_batch_list_reviews(product_ids, *, limit=0):
    return ttypes.BatchListReviewsRequest(list(product_ids), limit)


def call_batch_list_reviews(method, request):
    return method(request.product_ids, limit=request.limit)


def encode_review(value):
    return ttypes.Review(value.id, value.product_id, value.user_id, value.rating, value.title, value.body)


def decode_review(message):
    return Review(message.id, message.product_id, message.user_id, message.rating, message.title, message.body)


def decode_batch_list_reviews_response(message):
    return {entry.product_id: tuple(map(decode_review, entry.reviews)) for entry in message.products}


def encode_batch_list_reviews_response(value):
    return ttypes.BatchListReviewsResponse([ttypes.ProductReviews(key, list(map(encode_review, some))) for key, some in value.items()])


def request_batch_get_products_with_reviews(ids, *, review_limit=0):
    return ttypes.BatchGetProductsWithReviewsRequest(list(ids), review_limit)


def call_batch_get_products_with_reviews(method, request):
    return method(request.ids, review_limit=request.review_limit)


def encode_reviewed_product(value):
    return ttypes.ReviewedProduct(value.id, value.title, value.description, value.category, encode_money(value.price), value.stock, list(map(encode_review, value.reviews)))


def decode_reviewed_product(message):
    return ReviewedProduct(message.id, message.title, message.description, message.category, decode_money(message.price), message.stock, tuple(map(decode_review, message.reviews)))


def decode_batch_get_products_with_reviews_response(message):
    return list(map(decode_reviewed_product, message.products))


def encode_batch_get_products_with_reviews_response(value):
    return ttypes.BatchGetProductsWithReviewsResponse(list(map(encode_reviewed_product, value)))


def request_list_products_with_reviews(*, page_size=0, page_token='', category='', review_limit=0):
    return ttypes.ListProductsWithReviewsRequest(page_size, page_token, category, review_limit)


def call_list_products_with_reviews(method, request):
    return method(page_size=request.page_size, page_token=request.page_token, category=request.category, review_limit=request.review_limit)


def decode_list_products_with_reviews_response(message):
    return Page(tuple(map(decode_reviewed_product, message.products)), message.next_page_token)


def encode_list_products_with_reviews_response(value):
    return ttypes.ListProductsWithReviewsResponse(list(map(encode_reviewed_product, value.items)), value.next_page_token)


def encode_stock_line(value):
    return ttypes.StockLine(value.product_id, value.quantity)


def decode_stock_line(message):
    return StockLine(message.product_id, message.quantity)


def request_reserve_stock(reservation_id, lines):
    return ttypes.ReserveStockRequest(reservation_id, list(map(encode_stock_line, lines)))


def call_reserve_stock(method, request):
    return method(request.reservation_id, list(map(decode_stock_line, request.lines)))


def encode_reserved_line(value):
    return ttypes.ReservedLine(value.product_id, value.quantity, encode_money(value.unit_price))


def decode_reserved_line(message):
    return ReservedLine(message.product_id, message.quantity, decode_money(message.unit_price))


def encode_reservation(value):
    return ttypes.Reservation(value.id, RESERVATION_STATE_NUMBERS[value.state], list(map(encode_reserved_line, value.lines)))


def decode_reservation(message):
    return Reservation(message.id, RESERVATION_STATE_VALUES[message.state], tuple(map(decode_reserved_line, message.lines)))


def request_confirm_reservation(reservation_id):
    return ttypes.ConfirmReservationRequest(reservation_id)


def call_confirm_reservation(method, request):
    return method(request.reservation_id)


def request_release_reservation(reservation_id):
    return ttypes.ReleaseReservationRequest(reservation_id)


def call_release_reservation(method, request):
    return method(request.reservation_id)


def request_stream_product_rows(*, after_product_id=0, limit=0):
    return ttypes.StreamProductRowsRequest(after_product_id, limit)


def call_stream_product_rows(method, request):
    return method(after_product_id=request.after_product_id, limit=request.limit)


def encode_product_row(value):
    return ttypes.ProductRow(value.product_id, value.title, encode_money(value.price), value.stock)


def decode_product_row(message):
    return ProductRow(message.product_id, message.title, decode_money(message.price), message.stock)


def decode_stream_product_rows_response(message):
    return map(decode_product_row, message.rows)


def encode_stream_product_rows_response(value):
    return ttypes.StreamProductRowsResponse(list(map(encode_product_row, value)))


def request_get_document(document_id):
    return ttypes.GetDocumentRequest(document_id)


def call_get_document(method, request):
    return method(request.id)


def encode_document_record(value):
    return ttypes.DocumentRecord(value.text, value.count, value.value, value.ok, None if value.at is None else ttypes.Timestamp(int(value.at.timestamp())), None if value.price is None else encode_money(value.price))


def decode_document_record(message):
    return DocumentRecord(message.text, message.count, message.value, message.ok, datetime.fromtimestamp(message.at.seconds, UTC) if message.at is not None else None, decode_money(message.price) if message.price is not None else None)


def encode_document_section(value):
    return ttypes.DocumentSection(value.title, list(map(encode_document_record, value.records)))


def decode_document_section(message):
    return DocumentSection(message.title, tuple(map(decode_document_record, message.records)))


def encode_document(value):
    return ttypes.Document(value.id, list(map(encode_document_section, value.sections)))


def decode_document(message):
    return Document(message.id, tuple(map(decode_document_section, message.sections)))

CALLS = {
    "GetProduct": (None, None, request_get_product, call_get_product, encode_product, decode_product, {'product_id': 'id'}),
    "BatchGetProducts": (None, None, request_batch_get_products, call_batch_get_products, encode_batch_get_products_response, decode_batch_get_products_response, {}),
    "ListProducts": (None, None, request_list_products, call_list_products, encode_list_products_response, decode_list_products_response, {}),
    "CreateProduct": (None, None, request_create_product, call_create_product, encode_product, decode_product, {'title': 'product.title', 'description': 'product.description', 'category': 'product.category', 'price': 'product.price', 'stock': 'product.stock'}),
    "UpdateProduct": (None, None, request_update_product, call_update_product, encode_product, decode_product, {'product_id': 'product.id', 'title': 'product.title', 'description': 'product.description', 'category': 'product.category', 'price': 'product.price', 'stock': 'product.stock'}),
    "DeleteProduct": (None, None, request_delete_product, call_delete_product, None, decode_empty, {'product_id': 'id'}),
    "BatchListReviews": (None, None, request_batch_list_reviews, call_batch_list_reviews, encode_batch_list_reviews_response, decode_batch_list_reviews_response, {}),
    "BatchGetProductsWithReviews": (None, None, request_batch_get_products_with_reviews, call_batch_get_products_with_reviews, encode_batch_get_products_with_reviews_response, decode_batch_get_products_with_reviews_response, {}),
    "ListProductsWithReviews": (None, None, request_list_products_with_reviews, call_list_products_with_reviews, encode_list_products_with_reviews_response, decode_list_products_with_reviews_response, {}),
    "ReserveStock": (None, None, request_reserve_stock, call_reserve_stock, encode_reservation, decode_reservation, {}),
    "ConfirmReservation": (None, None, request_confirm_reservation, call_confirm_reservation, encode_reservation, decode_reservation, {}),
    "ReleaseReservation": (None, None, request_release_reservation, call_release_reservation, encode_reservation, decode_reservation, {}),
    "StreamProductRows": (None, None, request_stream_product_rows, call_stream_product_rows, encode_stream_product_rows_response, decode_stream_product_rows_response, {}),
    "GetDocument": (None, None, request_get_document, call_get_document, encode_document, decode_document, {'document_id': 'id'}),
}
