"""What of AutoGraph programs of graphs use."""
