"""Networks for pictures [batch, height, width, channels], with the names of variables that checkpoints have."""
