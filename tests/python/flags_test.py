# Command line flags: braid.absl.flags, which tf.flags shows where Abseil is not installed.
import enum
import unittest

import support  # noqa: F401, before the others: where the package is

from braid.absl import flags
from braid.absl.testing import parameterized


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class FlagsTest(parameterized.TestCase):
    def setUp(self):
        self.values = v = flags.FlagValues()
        flags.DEFINE_string("name", "x", "The name.", flag_values=v)
        flags.DEFINE_integer("count", 3, "How many.", lower_bound=0, flag_values=v)
        flags.DEFINE_float("rate", None, "The rate.", flag_values=v)
        flags.DEFINE_boolean("sync", False, "Together.", flag_values=v)
        flags.DEFINE_enum("mode", "a", ["a", "b"], "The mode.", short_name="m", flag_values=v)
        flags.DEFINE_enum_class("colour", Colour.RED, Colour, "The colour.", flag_values=v)
        flags.DEFINE_list("hosts", ["p", "q"], "The hosts.", flag_values=v)
        flags.DEFINE_multi_integer("layer", [8], "Sizes.", flag_values=v)

    def parse(self, *words, **options):
        return self.values(["program", *words], **options)

    @parameterized.parameters(
        ("name", ["--name=a=b"], "a=b"),
        ("name", ["-name", "b"], "b"),
        ("count", ["--count", "0x10"], 16),
        ("rate", ["--rate=1"], 1.0),
        ("rate", [], None),
        ("sync", ["--sync"], True),
        ("sync", ["--sync", "--nosync"], False),
        ("sync", ["--sync=yes"], True),
        ("mode", ["-m", "b"], "b"),
        ("colour", ["--colour=blue"], Colour.BLUE),
        ("hosts", ["--hosts=a, b"], ["a", "b"]),
        ("hosts", ["--hosts="], []),
        ("layer", ["--layer=1", "--layer=2"], [1, 2]),
        ("layer", [], [8]),
    )
    def test_values(self, name, words, expected):
        self.assertEqual(self.parse(*words), ["program"])
        self.assertEqual(getattr(self.values, name), expected)

    @parameterized.parameters(
        ("--count=x", flags.IllegalFlagValueError, "invalid literal"),
        ("--count=-1", flags.IllegalFlagValueError, "a non-negative integer"),
        ("--mode=c", flags.IllegalFlagValueError, "one of <a|b>"),
        ("--sync=maybe", flags.IllegalFlagValueError, "Non-boolean"),
        ("--nam=3", flags.UnrecognizedFlagError, "Did you mean: name"),
        ("--noname", flags.UnrecognizedFlagError, "noname"),
        ("--name", flags.Error, "Missing value"),
    )
    def test_errors(self, word, error, text):
        self.assertRaisesRegex(error, text, self.parse, word)

    def test_what_is_no_flag_is_left(self):
        self.assertEqual(
            self.parse("a", "--count=1", "b", "--", "--rate=2"), ["program", "a", "b", "--rate=2"]
        )
        self.assertEqual(self.parse("--unknown=1", "a", known_only=True), ["program", "--unknown=1", "a"])

    def test_values_are_there_once_they_are_parsed(self):
        self.assertRaises(flags.UnparsedFlagAccessError, getattr, self.values, "name")
        self.parse()
        self.assertRaises(AttributeError, getattr, self.values, "other")
        self.values.name = "new"
        self.assertEqual((self.values.name, self.values["name"].default), ("new", "x"))
        self.assertRaises(flags.UnrecognizedFlagError, setattr, self.values, "other", 1)

    def test_validators_hold_whenever_a_value_changes(self):
        flags.register_validator("count", lambda n: n < 9, "too many", flag_values=self.values)
        flags.mark_flag_as_required("rate", flag_values=self.values)
        self.assertRaisesRegex(flags.IllegalFlagValueError, "rate must have a value", self.parse)
        self.parse("--rate=1")
        with self.assertRaisesRegex(flags.IllegalFlagValueError, "too many"):
            self.values.count = 10

    def test_a_flag_is_defined_once(self):
        with self.assertRaises(flags.DuplicateFlagError):
            flags.DEFINE_string("name", None, "Again.", flag_values=self.values)

    def test_help_has_defaults_and_limits(self):
        shown = self.values.get_help()
        for line in (
            "--count: How many.",
            "(default: '3')",
            "(a non-negative integer)",
            "-m,--mode: <a|b>",
            "--[no]sync",
        ):
            self.assertIn(line, shown)


if __name__ == "__main__":
    unittest.main()
