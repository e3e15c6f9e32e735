"""The model that dual coordinate ascent trains, and its table."""
