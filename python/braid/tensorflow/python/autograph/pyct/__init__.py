"""Python programs as data: the source of a function, and which values its statements read and write."""
