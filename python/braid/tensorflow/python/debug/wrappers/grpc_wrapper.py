"""Sessions that would send what they compute to a server of TensorFlow's: they say what to use in place."""


def absent(name):
    """A class that refuses to be made."""

    class Absent:
        """Raises NotImplementedError."""

        def __init__(self, *args, **kwargs):
            raise NotImplementedError(
                f"tfdbg.{name}: Braid sends no values to TensorBoard's debugger or to another server. "
                "DumpingDebugWrapperSession and DumpingDebugHook write them to a directory, which "
                "`python3 -m braid -m tensorflow.python.debug.cli.offline_analyzer --dump_dir DIR` shows; "
                "LocalCLIDebugWrapperSession and LocalCLIDebugHook show them in the terminal"
            )

    Absent.__name__ = Absent.__qualname__ = name
    return Absent


GrpcDebugWrapperSession = absent("GrpcDebugWrapperSession")
TensorBoardDebugWrapperSession = absent("TensorBoardDebugWrapperSession")
