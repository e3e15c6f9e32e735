"""What a saver saves: an object with its tensors, and how they are restored."""


class SaveSpec:
    """A tensor to save: its name in the checkpoint, and the part of the whole that it is."""

    def __init__(self, tensor, slice_spec, name, dtype=None, device=None):
        """tensor: or a function that makes it, for which dtype and device are given.

        slice_spec: as "10 20 0,5:0,20" (the whole's shape, then offset,length for each dimension); "" for the whole.
        """
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if callable(tensor):
            if dtype is None or device is None:
                raise AssertionError(
                    "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must be provided."
                )
            self.dtype = dtype
            self.device = device
        else:
            self.dtype = tensor.dtype if dtype is None else dtype
            self.device = tensor.device if device is None else device

    @property
    def tensor(self):
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """The base of what a saver saves. Programs derive their own from it."""

    def __init__(self, op, specs, name):
        """op: what is saved; no two saveables of a saver have the same. specs: its SaveSpecs."""
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def optional_restore(self):
        return False

    @property
    def device(self):
        return self.specs[0].device

    def restore(self, restored_tensors, restored_shapes):
        """An op that gives the object the values of `restored_tensors`, one for each spec.

        restored_shapes: shapes to give them; None for those of the checkpoint.
        """
        raise ValueError("Calling an abstract method.")
