"""The shop's REST gateway: the partner's resources over HTTP, in front of the services' client ports."""
