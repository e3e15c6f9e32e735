"""The ops are the engine's own: there is nothing to load."""
