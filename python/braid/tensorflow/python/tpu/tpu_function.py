"""What libraries ask to find out whether they build for TPUs: they do not."""


class TpuContext:
    """The computation for TPUs that is being built: none."""

    number_of_shards = None


_CONTEXT = TpuContext()


def get_tpu_context():
    return _CONTEXT
