"""Generated from proto/ by `make stubs`; never edited by hand."""

from shop.stubs.thrift import ttypes
from shop.values.mask import check_mask
from shop.values.page import Page
from shop.values.user import Address
from shop.values.user import LoginResult
from shop.values.user import User



def request_login(email, password):
    return ttypes.LoginRequest(email, password)


def call_login(method, request):
    return method(request.email, request.password)


def encode_address(value):
    return ttypes.Address(value.recipient, value.street, value.city, value.postal_code, value.country_code)


def decode_address(message):
    return Address(message.recipient, message.street, message.city, message.postal_code, message.country_code)


def encode_user(value):
    return ttypes.User(value.id, value.email, value.name, encode_address(value.address))


def decode_user(message):
    return User(message.id, message.email, message.name, decode_address(message.address))


def encode_login_response(value):
    return ttypes.LoginResponse(value.token, encode_user(value.user))


def decode_login_response(message):
    return LoginResult(message.token, decode_user(message.user))


def request_get_user(user_id):
    return ttypes.GetUserRequest(user_id)


def call_get_user(method, request):
    return method(request.id)


def request_batch_get_users(ids):
    return ttypes.BatchGetUsersRequest(list(ids))


def call_batch_get_users(method, request):
    return method(request.ids)


def decode_batch_get_users_response(message):
    return list(map(decode_user, message.users))


def encode_batch_get_users_response(value):
    return ttypes.BatchGetUsersResponse(list(map(encode_user, value)))


def request_list_users(*, page_size=0, page_token=''):
    return ttypes.ListUsersRequest(page_size, page_token)


def call_list_users(method, request):
    return method(page_size=request.page_size, page_token=request.page_token)


def decode_list_users_response(message):
    return Page(tuple(map(decode_user, message.users)), message.next_page_token)


def encode_list_users_response(value):
    return ttypes.ListUsersResponse(list(map(encode_user, value.items)), value.next_page_token)


def request_create_user(*, email, name, address, password):
    return ttypes.CreateUserRequest(ttypes.User(None, email, name, encode_address(address)), password)


def call_create_user(method, request):
    user = request.user
    return method(email=user.email, name=user.name, address=decode_address(user.address), password=request.password)


def request_update_user(user_id, *, name=None, address=None, expected=None):
    return ttypes.UpdateUserRequest(ttypes.User(user_id, None, name, None if address is None else encode_address(address)), [name for name, value in (("name", name), ("address", address)) if value is not None], None if expected is None else encode_user(expected))


def call_update_user(method, request):
    user = request.user
    paths = check_mask(request.update_mask, ("name", "address"))
    return method(user.id, name=user.name if "name" in paths else None, address=decode_address(user.address) if "address" in paths else None, expected=decode_user(request.expected) if request.expected is not None else None)


def request_delete_user(user_id, *, expected=None):
    return ttypes.DeleteUserRequest(user_id, None if expected is None else encode_user(expected))


def call_delete_user(method, request):
    return method(request.id, expected=decode_user(request.expected) if request.expected is not None else None)


def decode_empty(message):
    return None

CALLS = {
    "Login": (None, None, request_login, call_login, encode_login_response, decode_login_response, {}),
    "GetUser": (None, None, request_get_user, call_get_user, encode_user, decode_user, {'user_id': 'id'}),
    "BatchGetUsers": (None, None, request_batch_get_users, call_batch_get_users, encode_batch_get_users_response, decode_batch_get_users_response, {}),
    "ListUsers": (None, None, request_list_users, call_list_users, encode_list_users_response, decode_list_users_response, {}),
    "CreateUser": (None, None, request_create_user, call_create_user, encode_user, decode_user, {'email': 'user.email', 'name': 'user.name', 'address': 'user.address'}),
    "UpdateUser": (None, None, request_update_user, call_update_user, encode_user, decode_user, {'user_id': 'user.id', 'name': 'user.name', 'address': 'user.address'}),
    "DeleteUser": (None, None, request_delete_user, call_delete_user, None, decode_empty, {'user_id': 'id'}),
}
