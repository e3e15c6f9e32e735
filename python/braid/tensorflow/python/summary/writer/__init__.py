"""Writers of event files."""
