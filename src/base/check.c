// The end of a failed assertion.
#include "base/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void bd_assert_failed(const char *file, int line, const char *what)
{
    char text[512];
    int len = snprintf(text, sizeof text, "%s:%d: assertion failed: %s\n", file, line, what);
    if (len > (int)sizeof text - 1) len = (int)sizeof text - 1;
    // Writes directly to the descriptor: the heap and stdio may be damaged.
    ssize_t written = write(STDERR_FILENO, text, (size_t)len);
    (void)written;
    abort();
}
