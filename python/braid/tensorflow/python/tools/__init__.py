"""Programs around checkpoints and graphs."""
