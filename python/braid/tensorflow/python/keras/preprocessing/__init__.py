"""Preparing sequences, text and images."""
