"""Models of Keras as estimators of other libraries."""
