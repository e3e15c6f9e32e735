"""The program and its surroundings: flags, logging, files, tests."""
