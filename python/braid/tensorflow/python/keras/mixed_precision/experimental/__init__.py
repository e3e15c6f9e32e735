"""Computing in half precision with variables in single precision."""
