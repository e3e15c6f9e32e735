"""Networks of specifications: strings of Python with the names of specs_ops, such as "net = Cr(64, [5, 5]) | Fs(10)"."""

import inspect

from braid.tensorflow.contrib.specs.python import params_ops, specs_lib, specs_ops


def _bindings(text, environment, names):
    specs_lib.check_keywords(text)
    bindings = dict(environment or {})
    exec(text, vars(names), bindings)
    return bindings


def eval_params(params, environment=None):
    """The names that statements bind, which may use those of params_ops and of `environment`, a dict: a dict."""
    return _bindings(params, environment, params_ops)


def eval_spec(spec, environment=None):
    """The names that a specification binds, which may use those of `environment`, a dict: a dict."""
    return _bindings(spec, environment, specs_ops)


def create_net_fun(spec, environment=None):
    """The function `net` of a specification. ValueError: there is none."""
    net = eval_spec(spec, environment).get("net")
    if net is None:
        raise ValueError("spec failed to create 'net': %s" % (spec,))
    return net.funcall


def create_net(spec, inputs, environment=None):
    """The value of `net` of a specification for `inputs`, a tensor."""
    return create_net_fun(spec, environment)(inputs)


class LocalImport:
    """A context in which names, of a dict or a module, are global ones of the module that enters it."""

    def __init__(self, names):
        self.names = names if isinstance(names, dict) else vars(names)

    def __enter__(self):
        self._globals = inspect.currentframe().f_back.f_globals
        self.old = {name: self._globals[name] for name in self.names if name in self._globals}
        self._globals.update(self.names)

    def __exit__(self, exc_type, exc_value, traceback):
        for name in self.names:
            del self._globals[name]
        self._globals.update(self.old)


ops = LocalImport(specs_ops)
