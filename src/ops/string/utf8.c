// UTF-8 in strings.
#include "ops/string/utf8.h"

#include "base/alloc.h"
#include "ops/common/string_out.h"
#include <unicode/ustring.h>

int64_t bd_utf8_length(const char *text, size_t len)
{
    int64_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += !bd_utf8_is_trail(text[i]);
    return n;
}

bool bd_utf8_forward(const char *text, size_t len, int64_t n, size_t *pos)
{
    int64_t done = 0;
    for (; done < n && *pos < len; done++) {
        do
            ++*pos;
        while (*pos < len && bd_utf8_is_trail(text[*pos]));
    }
    return done == n;
}

bool bd_utf8_back(const char *text, int64_t n, size_t *pos)
{
    int64_t done = 0;
    for (; done<n && * pos> 0; done++) {
        do
            --*pos;
        while (*pos > 0 && bd_utf8_is_trail(text[*pos]));
    }
    return done == n;
}

// ---- Case ----

// ICU counts in int32; a character of UTF-16 is three bytes of UTF-8 at most, and a case mapping makes three
// of one.
#define CASE_BYTES_MAX (INT32_MAX / 9)

static bool fail_memory(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when changing the case of a string");
    return false;
}

static bool put_utf8(bd_op_ctx *c, const braid_tensor *y, int64_t i, const UChar *text, int32_t len)
{
    UErrorCode error = U_ZERO_ERROR;
    int32_t bytes = 0, none = 0;
    u_strToUTF8WithSub(NULL, 0, &bytes, text, len, 0xfffd, &none, &error);
    char *room = bd_string_room(c, y, i, (size_t)bytes);
    if (!room) return false;
    error = U_ZERO_ERROR;
    if (bytes > 0) u_strToUTF8WithSub(room, bytes, NULL, text, len, 0xfffd, &none, &error);
    return true;
}

bool bd_utf8_change_case(bd_op_ctx *c, const braid_tensor *y, int64_t i, const bd_string *text, bool to_upper)
{
    if (text->len > CASE_BYTES_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "A string of %zu bytes is too long to change its case: at most %d", text->len,
                   CASE_BYTES_MAX);
        return false;
    }
    if (text->len == 0) return bd_string_put(c, y, i, NULL, 0);
    int32_t units = 0, cap = (int32_t)text->len * 3;
    UChar *wide = bd_try_calloc(text->len, sizeof *wide), *changed = bd_try_calloc((size_t)cap, sizeof *wide);
    UErrorCode error = U_ZERO_ERROR;
    bool ok = wide && changed;
    if (ok) {
        u_strFromUTF8WithSub(wide, (int32_t)text->len, &units, text->data, (int32_t)text->len, 0xfffd, NULL,
                             &error);
        int32_t len = (to_upper ? u_strToUpper : u_strToLower)(changed, cap, wide, units, "", &error);
        ok = U_SUCCESS(error) ? put_utf8(c, y, i, changed, len) : fail_memory(c);
    } else {
        fail_memory(c);
    }
    bd_free(wide);
    bd_free(changed);
    return ok;
}
