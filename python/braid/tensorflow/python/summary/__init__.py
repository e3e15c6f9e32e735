"""Summaries for TensorBoard: ops that make them, and writers of event files."""
