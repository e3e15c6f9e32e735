"""HParams: hyperparameters with names and types."""

import json
import re

_NAME_VALUE = re.compile(
    r"""\s*(?P<name>[a-zA-Z][\w.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*
        (?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,|$)""",
    re.VERBOSE,
)


def _converted(name, kind, text):
    """The value of a text, for a parameter of a type."""
    text = text.strip()
    try:
        if kind is bool:
            if text in ("true", "True"):
                return True
            if text in ("false", "False"):
                return False
            return bool(int(text))
        return kind(text)
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}'"
        ) from None


def parse_values(values, type_map, ignore_unknown=False):
    """A dict of values of the text "a=1,b[0]=2.5,c=[1,2]", by the types in type_map."""
    result, at = {}, 0
    while at < len(values):
        match = _NAME_VALUE.match(values, at)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        if match["value"] is not None:
            value = _converted(name, kind, match["value"])
            if match["index"] is not None:
                result.setdefault(name, {})[int(match["index"])] = value
            elif name in result:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            else:
                result[name] = value
        else:
            if match["index"] is not None:
                raise ValueError("Assignment of a list to a list index.")
            result[name] = [_converted(name, kind, v) for v in filter(None, re.split("[ ,]", match["list"]))]
    return result


class HParams:
    """Hyperparameters as attributes: HParams(learning_rate=0.1, layers=[1, 2]). Their types stay."""

    def __init__(self, hparam_def=None, model_structure=None, **kwargs):
        if hparam_def is not None:
            raise NotImplementedError("HParams(hparam_def=): give the values as arguments")
        self._hparam_types = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        """Adds one. Lists must not be empty: their elements' type is that of the first."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name, value):
        """Sets one, to a value of its type."""
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [self._cast(name, kind, v) for v in value])
            return
        if is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        setattr(self, name, self._cast(name, kind, value))

    @staticmethod
    def _cast(name, kind, value):
        fail = ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
        if kind is type(None) or isinstance(value, kind):
            if kind is not bool and isinstance(value, bool) and kind is not type(None):
                raise fail
            return value
        if isinstance(value, bool) or (kind is bool):
            raise fail
        if kind in (int, float) and isinstance(value, str) or kind is str:
            raise fail
        if kind is int and isinstance(value, float):
            raise fail
        return kind(value)

    def del_hparam(self, name):
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values):
        """Sets those of a text "a=1,b=[1,2]". Returns self."""
        type_map = {name: kind for name, (kind, _) in self._hparam_types.items()}
        for name, value in parse_values(values, type_map).items():
            if isinstance(value, dict):
                items = list(getattr(self, name))
                for index, item in value.items():
                    items[index] = item
                value = items
            self.set_hparam(name, value)
        return self

    def override_from_dict(self, values_dict):
        """Sets those of a dict. Returns self."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    set_from_map = override_from_dict

    def parse_json(self, values_json):
        """Sets those of a JSON object. Returns self."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            {k: v for k, v in self.values().items() if not callable(v)},
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    def values(self):
        """A dict of all."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key, default=None):
        return getattr(self, key) if key in self._hparam_types else default

    def set_model_structure(self, model_structure):
        self._model_structure = model_structure

    def get_model_structure(self):
        return self._model_structure

    def __contains__(self, key):
        return key in self._hparam_types

    def __str__(self):
        return str(sorted(self.values().items()))

    def __repr__(self):
        return f"HParams({self})"
