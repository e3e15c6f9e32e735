"""Ops of TPUs."""
