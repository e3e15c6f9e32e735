"""What converted code calls in place of Python's statements and expressions: each does what Python does,
unless its operands are tensors."""
