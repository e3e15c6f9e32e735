// Status codes with messages. Each step of a cluster ends with one (it is over), so their texts use slab
// memory.
#include "base/status.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/slab.h"
#include <stdio.h>
#include <string.h>

braid_status *braid_status_new(void)
{
    return bd_calloc(1, sizeof(braid_status));
}

void braid_status_free(braid_status *st)
{
    if (!st) return;
    bd_status_fini(st);
    bd_free(st);
}

void braid_status_clear(braid_status *st)
{
    bd_status_fini(st);
}

static char *copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(bd_slab_alloc_raw(size), text, size);
}

static char *format_text(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    BD_ASSERT(len >= 0);
    char *text = bd_slab_alloc_raw((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, args);
    return text;
}

void braid_status_set(braid_status *st, braid_code code, const char *message)
{
    char *copy = code == BRAID_OK || !message ? NULL : copy_text(message);
    bd_status_fini(st);
    st->code = code;
    st->message = copy;
}

braid_code braid_status_code(const braid_status *st)
{
    return st->code;
}

const char *braid_status_message(const braid_status *st)
{
    return st->message ? st->message : "";
}

const char *braid_code_name(braid_code code)
{
    static const char *const names[] = {
        [BRAID_OK] = "OK",
        [BRAID_CANCELLED] = "Cancelled",
        [BRAID_UNKNOWN] = "Unknown",
        [BRAID_INVALID_ARGUMENT] = "InvalidArgument",
        [BRAID_DEADLINE_EXCEEDED] = "DeadlineExceeded",
        [BRAID_NOT_FOUND] = "NotFound",
        [BRAID_ALREADY_EXISTS] = "AlreadyExists",
        [BRAID_PERMISSION_DENIED] = "PermissionDenied",
        [BRAID_RESOURCE_EXHAUSTED] = "ResourceExhausted",
        [BRAID_FAILED_PRECONDITION] = "FailedPrecondition",
        [BRAID_ABORTED] = "Aborted",
        [BRAID_OUT_OF_RANGE] = "OutOfRange",
        [BRAID_UNIMPLEMENTED] = "Unimplemented",
        [BRAID_INTERNAL] = "Internal",
        [BRAID_UNAVAILABLE] = "Unavailable",
        [BRAID_DATA_LOSS] = "DataLoss",
        [BRAID_UNAUTHENTICATED] = "Unauthenticated",
    };
    size_t number = (size_t)(unsigned)code;
    return number < BD_COUNTOF(names) ? names[number] : "Unknown";
}

void bd_status_fini(braid_status *st)
{
    bd_slab_free(st->message);
    *st = (braid_status){0};
}

braid_code(bd_fail)(braid_status *st, braid_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bd_vfail(st, code, format, args);
    va_end(args);
    return code;
}

braid_code bd_vfail(braid_status *st, braid_code code, const char *format, va_list args)
{
    BD_ASSERT(code != BRAID_OK);
    char *message = format_text(format, args); // first: the arguments may point into the old message
    bd_status_fini(st);
    st->code = code;
    st->message = message;
    return code;
}

// Replaces the message by two texts, one after the other.
static void set_joined(braid_status *st, const char *first, const char *second)
{
    const size_t len = strlen(first), size = strlen(second) + 1;
    char *joined = bd_slab_alloc_raw(len + size);
    memcpy(joined, first, len);
    memcpy(joined + len, second, size);
    bd_slab_free(st->message);
    st->message = joined;
}

braid_code bd_status_prefix(braid_status *st, const char *format, ...)
{
    if (st->code == BRAID_OK) return BRAID_OK;
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    set_joined(st, text, braid_status_message(st));
    bd_slab_free(text);
    return st->code;
}

braid_code bd_status_suffix(braid_status *st, const char *format, ...)
{
    if (st->code == BRAID_OK) return BRAID_OK;
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    set_joined(st, braid_status_message(st), text);
    bd_slab_free(text);
    return st->code;
}

braid_code bd_status_copy(braid_status *to, const braid_status *from)
{
    if (to == from) return to->code;
    bd_status_fini(to);
    *to = *from;
    if (from->message) to->message = copy_text(from->message);
    return to->code;
}

void bd_status_move(braid_status *to, braid_status *from)
{
    if (to == from) return;
    bd_status_fini(to);
    *to = *from;
    *from = (braid_status){0};
}

void bd_status_update(braid_status *to, const braid_status *from)
{
    if (from->code == BRAID_OK) return;
    if (to->code == BRAID_OK || (to->derived && !from->derived)) bd_status_copy(to, from);
}
