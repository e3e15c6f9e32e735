"""The decorators of AutoGraph."""
