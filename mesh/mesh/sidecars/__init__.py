"""The mesh: a proxy beside each component, which everything that the component receives and sends passes."""
