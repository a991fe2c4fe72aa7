"""The shop on a Kubernetes cluster: its manifests, and runs in the cluster."""
