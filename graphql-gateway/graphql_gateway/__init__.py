"""The GraphQL gateway: one schema over the four services, whatever protocol reaches them."""
