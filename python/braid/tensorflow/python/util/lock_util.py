"""A lock of which all threads of one group hold it at a time."""

import threading


class GroupLock:
    """Members of one of `num_groups` groups hold it together, members of different groups never."""

    def __init__(self, num_groups=2):
        if num_groups < 1:
            raise ValueError("num_groups must be a positive integer, got {}".format(num_groups))
        self._changed = threading.Condition()
        self._group_member_counts = [0] * num_groups

    def group(self, group_id):
        """A context manager that holds the lock for a group."""
        self._check(group_id)
        return _Group(self, group_id)

    def acquire(self, group_id):
        """Waits until no other group holds the lock."""
        self._check(group_id)
        with self._changed:
            self._changed.wait_for(
                lambda: not any(n for i, n in enumerate(self._group_member_counts) if i != group_id)
            )
            self._group_member_counts[group_id] += 1

    def release(self, group_id):
        self._check(group_id)
        with self._changed:
            self._group_member_counts[group_id] -= 1
            if not self._group_member_counts[group_id]:
                self._changed.notify_all()

    def _check(self, group_id):
        if not 0 <= group_id < len(self._group_member_counts):
            raise ValueError(f"group_id must be in [0, {len(self._group_member_counts)}), got {group_id}")


class _Group:
    def __init__(self, lock, group_id):
        self._lock, self._group_id = lock, group_id

    def __enter__(self):
        self._lock.acquire(self._group_id)

    def __exit__(self, *exception):
        self._lock.release(self._group_id)
