"""What graphs are made of: types, shapes, errors."""
