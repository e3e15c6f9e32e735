"""tf.keras.experimental's functions under the names of before."""

from braid.tensorflow.python.keras.saving import saved_model_experimental

save_keras_model = saved_model_experimental.export_saved_model
load_keras_model = saved_model_experimental.load_from_saved_model
