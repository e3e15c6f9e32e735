"""Objects that refer to each other, saved in checkpoints by the paths between them."""
