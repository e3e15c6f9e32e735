"""ExportStrategy: how an Experiment writes its model."""

import collections
import inspect


class ExportStrategy(
    collections.namedtuple("ExportStrategy", ["name", "export_fn", "strip_default_attrs"], defaults=[None])
):
    """A function that writes a model, and the name of its directory below `export` of the model's.

    export_fn: a function of (estimator, export_path), which may also take checkpoint_path, eval_result (only
    beside checkpoint_path) and strip_default_attrs. It returns the path of what it has written.
    """

    def export(self, estimator, export_path, checkpoint_path=None, eval_result=None):
        """Calls export_fn with the arguments that it takes."""
        names = inspect.getfullargspec(self.export_fn).args
        if "eval_result" in names and "checkpoint_path" not in names:
            raise ValueError("An export_fn accepting eval_result must also accept checkpoint_path.")
        known = {
            "checkpoint_path": checkpoint_path,
            "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }
        return self.export_fn(estimator, export_path, **{n: v for n, v in known.items() if n in names})
