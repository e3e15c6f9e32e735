"""Where a cluster is."""
