"""A stack whose items know where a program put them."""

import sys


class TraceableObject:
    """An object with the file and the line where it was put: `filename` and `lineno`."""

    SUCCESS, HEURISTIC_USED, FAILURE = 0, 1, 2

    def __init__(self, obj, filename=None, lineno=None):
        self.obj, self.filename, self.lineno = obj, filename, lineno

    def set_filename_and_line_from_caller(self, offset=0):
        """Takes the place of the caller, or of the one `offset` calls above; of the outermost if there are
        less."""
        frame, used = sys._getframe(1), self.SUCCESS
        for _ in range(offset):
            if frame.f_back is None:
                used = self.HEURISTIC_USED
                break
            frame = frame.f_back
        self.filename, self.lineno = frame.f_code.co_filename, frame.f_lineno
        return used

    def copy_metadata(self):
        """An object of this place without content."""
        return self.__class__(None, self.filename, self.lineno)


class TraceableStack:
    """A stack of TraceableObjects."""

    def __init__(self, existing_stack=None):
        self._stack = existing_stack[:] if existing_stack else []

    def push_obj(self, obj, offset=0):
        """Puts an object with the place of the caller."""
        made = TraceableObject(obj)
        self._stack.append(made)
        return made.set_filename_and_line_from_caller(offset + 1)

    def pop_obj(self):
        return self._stack.pop().obj

    def peek_top_obj(self):
        return self._stack[-1].obj

    def peek_objs(self):
        """The objects, the one on top first."""
        return [t.obj for t in reversed(self._stack)]

    def peek_traceable_objs(self):
        return list(reversed(self._stack))

    def __len__(self):
        return len(self._stack)

    def copy(self):
        return TraceableStack(self._stack)
