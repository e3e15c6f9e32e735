"""Tests: absltest, parameterized."""
