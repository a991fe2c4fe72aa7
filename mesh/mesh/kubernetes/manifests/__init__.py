"""The shop's Kubernetes manifests."""
