"""Heads: from logits to loss, predictions and metrics."""
