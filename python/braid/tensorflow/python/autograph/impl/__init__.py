"""The conversion of functions, and calls of functions that are converted when they are called."""
