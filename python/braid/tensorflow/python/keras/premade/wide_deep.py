"""WideDeepModel: a linear model and a deep one, trained together (Cheng et al. 2016)."""

from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.experimental.WideDeepModel")
class WideDeepModel(training.Model):
    """activation(linear_model(inputs) + dnn_model(inputs)); inputs may be a pair, one for each.

    compile() takes a pair of optimizers, too, the linear model's first.
    """

    def __init__(self, linear_model, dnn_model, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activations.get(activation)

    def call(self, inputs, training=None):
        if isinstance(inputs, (tuple, list)) and len(inputs) == 2:
            linear_inputs, dnn_inputs = inputs
        else:
            linear_inputs = dnn_inputs = inputs
        linear = self.linear_model(linear_inputs)
        kwargs = (
            {"training": training} if self.dnn_model._expects_training_arg and training is not None else {}
        )
        deep = self.dnn_model(dnn_inputs, **kwargs)
        result = nest.map_structure(lambda x, y: x + y, linear, deep)
        return nest.map_structure(self.activation, result) if self.activation else result

    def _train_updates(self):
        if not isinstance(self.optimizer, (list, tuple)):
            return super()._train_updates()
        updates = []
        for optimizer, model in zip(self.optimizer, (self.linear_model, self.dnn_model)):
            updates += optimizer.get_updates(loss=self.total_loss, params=model.trainable_weights)
        return updates

    def get_config(self):
        layers = [_described(m) for m in (self.linear_model, self.dnn_model)]
        return {
            "linear_model": layers[0],
            "dnn_model": layers[1],
            "activation": activations.serialize(self.activation),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras.layers import deserialize

        config = dict(config)
        models = [deserialize(config.pop(k), custom_objects) for k in ("linear_model", "dnn_model")]
        return cls(*models, activation=activations.deserialize(config.pop("activation", None)), **config)


def _described(layer):
    """The class and the settings of a model."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}
