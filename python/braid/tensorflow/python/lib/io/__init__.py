"""Files: plain ones and TFRecord."""
