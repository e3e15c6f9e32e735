// Growable strings and strict parsing.
#include "base/strbuf.h"
#include "base/alloc.h"
#include "base/thread.h"
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bd_strbuf_fini(bd_strbuf *b)
{
    bd_free(b->data);
    *b = (bd_strbuf){0};
}

void bd_strbuf_clear(bd_strbuf *b)
{
    b->len = 0;
    if (b->data) b->data[0] = '\0';
}

// Room for `extra` more bytes and the zero.
static void reserve(bd_strbuf *b, size_t extra)
{
    BD_ASSERT(extra < SIZE_MAX / 4 && b->len < SIZE_MAX / 4);
    size_t need = b->len + extra + 1;
    if (need <= b->cap) return;
    size_t cap = b->cap ? b->cap * 2 : 32;
    if (cap < need) cap = need;
    b->data = bd_realloc(b->data, cap);
    b->cap = cap;
}

void bd_strbuf_append_n(bd_strbuf *b, const void *data, size_t len)
{
    reserve(b, len);
    if (len) memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void bd_strbuf_append(bd_strbuf *b, const char *text)
{
    bd_strbuf_append_n(b, text, strlen(text));
}

void bd_strbuf_append_char(bd_strbuf *b, char c)
{
    bd_strbuf_append_n(b, &c, 1);
}

void bd_strbuf_appendf(bd_strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bd_strbuf_vappendf(b, format, args);
    va_end(args);
}

void bd_strbuf_vappendf(bd_strbuf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    reserve(b, 0);
    size_t room = b->cap - b->len;
    int len = vsnprintf(b->data + b->len, room, format, args);
    BD_ASSERT(len >= 0);
    if ((size_t)len >= room) {
        reserve(b, (size_t)len);
        len = vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
    }
    va_end(again);
    b->len += (size_t)len;
}

const char *bd_strbuf_str(const bd_strbuf *b)
{
    return b->data ? b->data : "";
}

char *bd_strbuf_take(bd_strbuf *b)
{
    reserve(b, 0);
    char *text = b->data;
    text[b->len] = '\0';
    *b = (bd_strbuf){0};
    return text;
}

char *bd_put_uint64(char *out, uint64_t value)
{
    char digits[BD_DECIMAL_MAX];
    int count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count > 0)
        *out++ = digits[--count];
    return out;
}

char *bd_put_int64(char *out, int64_t value)
{
    if (value >= 0) return bd_put_uint64(out, (uint64_t)value);
    *out = '-';
    return bd_put_uint64(out + 1, -(uint64_t)value);
}

bool bd_str_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool bd_str_ends_with(const char *text, const char *suffix)
{
    size_t text_len = strlen(text), suffix_len = strlen(suffix);
    return text_len >= suffix_len && memcmp(text + text_len - suffix_len, suffix, suffix_len) == 0;
}

bool bd_split_next(const char **rest, char separator, const char **piece, size_t *len)
{
    if (!*rest) return false;
    const char *end = strchrnul(*rest, separator);
    *piece = *rest;
    *len = (size_t)(end - *rest);
    *rest = *end ? end + 1 : NULL;
    return true;
}

bool bd_parse_int64(const char *text, int64_t *out)
{
    const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
    if (!*digits) return false;
    int64_t value = 0;
    for (const char *p = digits; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        int digit = *text == '-' ? -(*p - '0') : *p - '0';
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

static locale_t c_locale;

static void make_c_locale(void *arg)
{
    (void)arg;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    BD_ASSERT(c_locale);
}

bool bd_parse_double(const char *text, double *out)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, make_c_locale, NULL);
    if (!*text || isspace((unsigned char)*text)) return false;
    char *end;
    errno = 0;
    double value = strtod_l(text, &end, c_locale);
    if (*end || (errno == ERANGE && fabs(value) > 1)) return false;
    *out = value;
    return true;
}
