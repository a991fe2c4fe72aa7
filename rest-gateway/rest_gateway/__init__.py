"""The shop's REST gateway: resources for partners over HTTP, on top of the services' client ports."""
