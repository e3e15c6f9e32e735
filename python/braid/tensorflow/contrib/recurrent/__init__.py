"""tf.contrib.recurrent: import its functions from tensorflow.contrib.recurrent.python.recurrent_api."""
