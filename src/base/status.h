// Status: the inside of braid_status and the functions that fill it.
#ifndef BD_BASE_STATUS_H
#define BD_BASE_STATUS_H

#include <braid/status.h>
#include <stdarg.h>
#include <stdbool.h>

struct braid_status {
    braid_code code;
    bool derived;  // a consequence of another error of the same step; never hides the root cause
    char *message; // owned; NULL without a message
};

// A status on the stack that frees its message at the end of its scope: `BD_STATUS(st);` declares
// `braid_status *st`.
#define BD_STATUS(name)                                                                                      \
    __attribute__((cleanup(bd_status_fini))) braid_status name##_storage = {0};                              \
    braid_status *name = &name##_storage

void bd_status_fini(braid_status *st);

// Sets code and message and returns the code. `code` is not BRAID_OK.
braid_code bd_fail(braid_status *st, braid_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define bd_fail(...) bd_is_error((bd_fail)(__VA_ARGS__))
// Lets the compiler know that a path that failed does not go on as if it had not.
static inline braid_code bd_is_error(braid_code code)
{
    if (code == BRAID_OK) __builtin_unreachable();
    return code;
}
braid_code bd_vfail(braid_status *st, braid_code code, const char *format, va_list args);

// Puts formatted text before (or after) the message of a failed status; the code stays. Returns the code.
braid_code bd_status_prefix(braid_status *st, const char *format, ...) __attribute__((format(printf, 2, 3)));
braid_code bd_status_suffix(braid_status *st, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Copies `from` to `to` (message duplicated). Returns the code.
braid_code bd_status_copy(braid_status *to, const braid_status *from);

// Moves `from` into `to`, leaving `from` OK.
void bd_status_move(braid_status *to, braid_status *from);

// Replaces `to` by `from` if that describes a step's failure better: any error over OK, a root cause over a
// derived error; of two equals `to` stays. `from` is unchanged.
void bd_status_update(braid_status *to, const braid_status *from);

#endif
