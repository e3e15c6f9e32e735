"""The functions of specifications: layers, whose names have two letters, and ops.

C is a convolution and F a fully connected layer; the second letter is its activation: sigmoid (s), tanh (t),
relu (r), softmax (m), none (l) or the layer's default (x).
"""

from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.specs.python import specs_lib
from braid.tensorflow.python.ops import array_ops, logging_ops, math_ops, nn, nn_ops, variable_scope


class Idx(specs_lib.Composable):
    """The argument itself."""

    def funcall(self, x):
        return x


class Conc(specs_lib.Composable):
    """The values of functions, one behind another along a dimension."""

    def __init__(self, dim, *args):
        self.dim = dim
        self.funs = args

    def funcall(self, x):
        return array_ops.concat([f.funcall(x) for f in self.funs], self.dim)


External = specs_lib.External
Import = specs_lib.Import
Fun = specs_lib.Function
debug = specs_lib.debug
Print = Fun(logging_ops.Print)
Id = Fun(array_ops.identity)

Cx = Fun(layers.conv2d)
Cs = Fun(layers.conv2d, activation_fn=math_ops.sigmoid)
Ct = Fun(layers.conv2d, activation_fn=math_ops.tanh)
Cr = Fun(layers.conv2d, activation_fn=nn_ops.relu)
Cm = Fun(layers.conv2d, activation_fn=nn_ops.softmax)
Cl = Fun(layers.conv2d, activation_fn=None)

Fx = Fun(layers.fully_connected)
Fs = Fun(layers.fully_connected, activation_fn=math_ops.sigmoid)
Ft = Fun(layers.fully_connected, activation_fn=math_ops.tanh)
Fr = Fun(layers.fully_connected, activation_fn=nn_ops.relu)
Fm = Fun(layers.fully_connected, activation_fn=nn_ops.softmax)
Fl = Fun(layers.fully_connected, activation_fn=None)

Mp = Fun(layers.max_pool2d)
Ap = Fun(layers.avg_pool2d)
Do = Fun(layers.dropout)
Bn = Fun(layers.batch_norm)
Lrn = Fun(nn.local_response_normalization)
Unit = Fun(layers.unit_norm)

Flat = Fun(layers.flatten)
Reshape = Fun(array_ops.reshape)
Transpose = Fun(array_ops.transpose)
Squeeze = Fun(array_ops.squeeze)
Expand = Fun(array_ops.expand_dims)

Relu = Fun(nn_ops.relu)
Sig = Fun(math_ops.sigmoid)
Tanh = Fun(math_ops.tanh)
Smax = Fun(nn_ops.softmax)


def Dws(n):
    """A convolution of single pixels with sigmoid."""
    return Cs(n, [1, 1])


def Dwm(n):
    """A convolution of single pixels with softmax."""
    return Cm(n, [1, 1])


def Var(name, *args, **kw):
    """tf.get_variable, whatever the argument."""
    return specs_lib.Callable(lambda _: variable_scope.get_variable(name, *args, **kw))


class Shared(specs_lib.Composable):
    """A network that has the same variables at each of its places: f = Shared(Cr(100, 3)); net = f | f."""

    shared_number = 1

    def __init__(self, subnet, name=None, scope=None):
        """name: of the scope of the variables, by default Shared_1 and so on; scope: a VariableScope that
        has them already.

        Raises:
          ValueError: `scope` is no VariableScope, `name` no string, or both are there.
        """
        if scope is not None and not isinstance(scope, variable_scope.VariableScope):
            raise ValueError("scope must be None or a VariableScope")
        if name is not None and not isinstance(name, str):
            raise ValueError("name must be None or a string")
        if scope is not None and name is not None:
            raise ValueError("cannot provide both a name and a scope")
        if name is None:
            name = "Shared_%d" % Shared.shared_number
            Shared.shared_number += 1
        self.subnet = subnet
        self.name = name
        self.scope = scope

    def funcall(self, x):
        if self.scope is not None:
            with variable_scope.variable_scope(self.scope, values=[x], reuse=True):
                return self.subnet.funcall(x)
        with variable_scope.variable_scope(self.name, values=[x]) as self.scope:
            return self.subnet.funcall(x)
