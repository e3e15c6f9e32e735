// Numbers written as text.
#include "ops/common/text_number.h"

#include "base/alloc.h"
#include "base/check.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char b)
{
    return b == ' ' || (b >= '\t' && b <= '\r');
}

static bool read_integer(const char *text, size_t len, int64_t min, int64_t max, int64_t *value)
{
    bool negative = len > 0 && text[0] == '-';
    uint64_t limit = negative ? -(uint64_t)min : (uint64_t)max, n = 0;
    if (len == (size_t)negative) return false;
    for (size_t i = negative; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (n > (limit - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *value = (int64_t)(negative ? -n : n);
    return true;
}

// `text` is zero-terminated.
static bool read_real(const char *text, size_t len, const braid_tensor *t, int64_t i)
{
    char *end;
    // Numbers that strtod reads and TensorFlow refuses: infinity, nan(...), and hexadecimal fractions.
    if (strlen(text) != len || strpbrk(text, "yYpP(") || (strpbrk(text, "xX") && strchr(text, '.')))
        return false;
    if (t->dtype == BRAID_FLOAT)
        bd_tensor_f32(t)[i] = strtof(text, &end);
    else
        bd_tensor_f64(t)[i] = strtod(text, &end);
    return end == text + len;
}

bool bd_text_to_number(const char *text, size_t len, const braid_tensor *t, int64_t i)
{
    int64_t value;
    bool is_empty = len == 0;
    while (len > 0 && is_blank(text[0]))
        text++, len--;
    while (len > 0 && is_blank(text[len - 1]))
        len--;
    switch (t->dtype) {
    case BRAID_INT32:
        if (!read_integer(text, len, INT32_MIN, INT32_MAX, &value)) return false;
        bd_tensor_i32(t)[i] = (int32_t)value;
        return true;
    case BRAID_INT64:
        if (!read_integer(text, len, INT64_MIN, INT64_MAX, &value)) return false;
        bd_tensor_i64(t)[i] = value;
        return true;
    default: break;
    }
    BD_ASSERT(t->dtype == BRAID_FLOAT || t->dtype == BRAID_DOUBLE);
    if (is_empty) return false;
    // Blanks alone are a zero, as TensorFlow reads them.
    if (len == 0) text = "0", len = 1;
    char local[64], *copy = len < sizeof local ? local : bd_try_malloc(len + 1);
    if (!copy) return false;
    if (len > 0) memcpy(copy, text, len);
    copy[len] = 0;
    bool ok = read_real(copy, len, t, i);
    if (copy != local) bd_free(copy);
    return ok;
}
