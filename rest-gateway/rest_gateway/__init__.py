"""The shop's REST gateway: the partners' resources over HTTP, in front of the services' client ports."""
