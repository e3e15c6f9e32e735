"""Models of images. Their weights are read from files in ~/.keras/models; nothing is downloaded."""
