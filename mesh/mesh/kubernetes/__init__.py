"""The shop on a Kubernetes cluster: its manifests, and a run of them."""
