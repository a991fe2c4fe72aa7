"""Generated from proto/ by `make stubs`; never edited by hand."""

from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask
from shop.stubs.type.v1 import address_pb2
from shop.stubs.user.v1 import user_pb2
from shop.values.mask import check_mask
from shop.values.page import Page
from shop.values.user import Address
from shop.values.user import LoginResult
from shop.values.user import User



def request_login(email, password):
    return user_pb2.LoginRequest(email=email, password=password)


def call_login(method, request):
    return method(request.email, request.password)


def encode_address(value):
    return address_pb2.Address(recipient=value.recipient, street=value.street, city=value.city, postal_code=value.postal_code, country_code=value.country_code)


def decode_address(message):
    return Address(message.recipient, message.street, message.city, message.postal_code, message.country_code)


def encode_user(value):
    return user_pb2.User(id=value.id, email=value.email, name=value.name, address=encode_address(value.address))


def decode_user(message):
    return User(message.id, message.email, message.name, decode_address(message.address))


def encode_login_response(value):
    return user_pb2.LoginResponse(token=value.token, user=encode_user(value.user))


def decode_login_response(message):
    return LoginResult(message.token, decode_user(message.user))


def request_get_user(user_id):
    return user_pb2.GetUserRequest(id=user_id)


def call_get_user(method, request):
    return method(request.id)


def request_batch_get_users(ids):
    return user_pb2.BatchGetUsersRequest(ids=ids)


def call_batch_get_users(method, request):
    return method(request.ids)


def decode_batch_get_users_response(message):
    return list(map(decode_user, message.users))


def encode_batch_get_users_response(value):
    return user_pb2.BatchGetUsersResponse(users=map(encode_user, value))


def request_list_users(*, page_size=0, page_token=''):
    return user_pb2.ListUsersRequest(page_size=page_size, page_token=page_token)


def call_list_users(method, request):
    return method(page_size=request.page_size, page_token=request.page_token)


def decode_list_users_response(message):
    return Page(tuple(map(decode_user, message.users)), message.next_page_token)


def encode_list_users_response(value):
    return user_pb2.ListUsersResponse(users=map(encode_user, value.items), next_page_token=value.next_page_token)


def request_create_user(*, email, name, address, password):
    return user_pb2.CreateUserRequest(password=password, user=user_pb2.User(email=email, name=name, address=encode_address(address)))


def call_create_user(method, request):
    user = request.user
    return method(email=user.email, name=user.name, address=decode_address(user.address), password=request.password)


def request_update_user(user_id, *, name=None, address=None, expected=None):
    return user_pb2.UpdateUserRequest(expected=None if expected is None else encode_user(expected), user=user_pb2.User(id=user_id, name=name, address=None if address is None else encode_address(address)), update_mask=FieldMask(paths=[name for name, value in (("name", name), ("address", address)) if value is not None]))


def call_update_user(method, request):
    user = request.user
    paths = check_mask(request.update_mask.paths, ("name", "address"))
    return method(user.id, name=user.name if "name" in paths else None, address=decode_address(user.address) if "address" in paths else None, expected=decode_user(request.expected) if request.HasField("expected") else None)


def request_delete_user(user_id, *, expected=None):
    return user_pb2.DeleteUserRequest(id=user_id, expected=None if expected is None else encode_user(expected))


def call_delete_user(method, request):
    return method(request.id, expected=decode_user(request.expected) if request.HasField("expected") else None)


def decode_empty(message):
    return None


def encode_empty(value):
    return Empty()

CALLS = {
    "Login": (user_pb2.LoginRequest, user_pb2.LoginResponse, request_login, call_login, encode_login_response, decode_login_response, {}),
    "GetUser": (user_pb2.GetUserRequest, user_pb2.User, request_get_user, call_get_user, encode_user, decode_user, {'user_id': 'id'}),
    "BatchGetUsers": (user_pb2.BatchGetUsersRequest, user_pb2.BatchGetUsersResponse, request_batch_get_users, call_batch_get_users, encode_batch_get_users_response, decode_batch_get_users_response, {}),
    "ListUsers": (user_pb2.ListUsersRequest, user_pb2.ListUsersResponse, request_list_users, call_list_users, encode_list_users_response, decode_list_users_response, {}),
    "CreateUser": (user_pb2.CreateUserRequest, user_pb2.User, request_create_user, call_create_user, encode_user, decode_user, {'email': 'user.email', 'name': 'user.name', 'address': 'user.address'}),
    "UpdateUser": (user_pb2.UpdateUserRequest, user_pb2.User, request_update_user, call_update_user, encode_user, decode_user, {'user_id': 'user.id', 'name': 'user.name', 'address': 'user.address'}),
    "DeleteUser": (user_pb2.DeleteUserRequest, Empty, request_delete_user, call_delete_user, encode_empty, decode_empty, {'user_id': 'id'}),
}
