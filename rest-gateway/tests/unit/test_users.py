"""`/v1/users` and `/v1/sessions`."""

from __future__ import annotations

import httpx

from gateway_shop import ForUser, Headers

ADDRESS = {"recipient": "Ada", "street": "Street 1", "city": "Paris", "postal_code": "12345", "country_code": "DE"}
NEW = {"email": "ada@example.com", "name": "Ada", "address": ADDRESS, "password": "correct horse"}


async def test_a_login_gives_a_token_that_opens_the_profile(api: httpx.AsyncClient) -> None:
    login = await api.post("/v1/sessions", json={"email": "user3@example.com", "password": "hopwise-demo"})
    assert (login.status_code, login.headers["cache-control"]) == (201, "no-store")
    token = login.json()["token"]
    profile = await api.get("/v1/users/3", headers={"authorization": f"Bearer {token}"})
    assert profile.json() == login.json()["user"]


async def test_everybody_may_sign_up(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/users", json=NEW)
    assert (answer.status_code, answer.headers["location"]) == (201, "/v1/users/21")
    assert answer.json() == {"id": 21, "email": "ada@example.com", "name": "Ada", "address": ADDRESS}


async def test_a_customer_changes_its_own_address(api: httpx.AsyncClient, customer: ForUser) -> None:
    answer = await api.patch("/v1/users/3", json={"address": ADDRESS}, headers=customer(3))
    assert answer.status_code == 200
    assert answer.json() == {"id": 3, "email": "user3@example.com", "name": "User 3", "address": ADDRESS}


async def test_an_address_is_replaced_as_a_whole(api: httpx.AsyncClient, customer: ForUser) -> None:
    answer = await api.patch("/v1/users/3", json={"address": {"city": "Berlin"}}, headers=customer(3))
    assert answer.status_code == 400
    missing = ADDRESS.keys() - {"city"}
    assert {error["field"] for error in answer.json()["errors"]} == {f"address.{part}" for part in missing}


async def test_a_partner_pages_through_the_users(api: httpx.AsyncClient, partner: Headers) -> None:
    first = (await api.get("/v1/users", params={"page_size": 15}, headers=partner)).json()
    second = (
        await api.get("/v1/users", params={"page_size": 15, "page_token": first["next_page_token"]}, headers=partner)
    ).json()
    assert [user["id"] for user in first["users"] + second["users"]] == list(range(1, 21))
    assert second["next_page_token"] == ""


async def test_a_partner_reads_many_users(api: httpx.AsyncClient, partner: Headers) -> None:
    answer = await api.get("/v1/users", params={"ids": "9,2,77"}, headers=partner)
    assert [user["id"] for user in answer.json()["users"]] == [9, 2]


async def test_a_customer_removes_its_account(api: httpx.AsyncClient, customer: ForUser) -> None:
    assert (await api.delete("/v1/users/7", headers=customer(7))).status_code == 204
    assert (await api.get("/v1/users/7", headers=customer(7))).status_code == 404
