"""Libraries under the modules of ops."""
