"""Models of Keras as saved models of objects, which TensorFlow's load_model reads."""
