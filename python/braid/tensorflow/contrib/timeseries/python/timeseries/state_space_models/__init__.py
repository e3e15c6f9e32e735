"""State space models of time series."""
