"""The shop in a Kubernetes cluster: its manifests, and runs in the cluster."""
