"""TPUEstimator, where no TPU is used."""
