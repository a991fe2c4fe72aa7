"""Istio on one machine, without Kubernetes: its resources, its control plane, and an agent for each sidecar."""
