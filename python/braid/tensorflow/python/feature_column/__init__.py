"""Feature columns: from features to the inputs of a model."""
