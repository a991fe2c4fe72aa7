"""Sweep and stress: how much load a topology holds."""
