"""Queues that a thread fills from arrays."""
