// Growable strings, and strict parsing of small texts.
#ifndef BD_BASE_STRBUF_H
#define BD_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zero-initialized is a valid empty string. `data` is zero-terminated after the first append (also of an
// empty text).
typedef struct bd_strbuf {
    char *data; // owned; NULL until the first append
    size_t len, cap;
} bd_strbuf;

void bd_strbuf_fini(bd_strbuf *b);  // empty and usable afterwards
void bd_strbuf_clear(bd_strbuf *b); // empty, memory kept
void bd_strbuf_append(bd_strbuf *b, const char *text);
void bd_strbuf_append_n(bd_strbuf *b, const void *data, size_t len);
void bd_strbuf_append_char(bd_strbuf *b, char c);
void bd_strbuf_appendf(bd_strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bd_strbuf_vappendf(bd_strbuf *b, const char *format, va_list args);
const char *bd_strbuf_str(const bd_strbuf *b); // never NULL; valid until the next change

// The text as memory of the caller's (bd_free); the buffer is empty afterwards. Never NULL.
char *bd_strbuf_take(bd_strbuf *b);

// Write a number in decimal to `out`, BD_DECIMAL_MAX bytes at most and no zero at the end, and return the
// end: for texts that each step builds.
enum {
    BD_DECIMAL_MAX = 20
};
char *bd_put_uint64(char *out, uint64_t value);
char *bd_put_int64(char *out, int64_t value);

bool bd_str_starts_with(const char *text, const char *prefix);
bool bd_str_ends_with(const char *text, const char *suffix);

// The pieces of a text between separators, empty ones too ("a,,b" has three, "" has one):
//     const char *rest = text, *piece; size_t len;
//     while (bd_split_next(&rest, ',', &piece, &len)) ...
bool bd_split_next(const char **rest, char separator, const char **piece, size_t *len);

// The whole text must be a decimal number in range, without spaces. False leaves *out unchanged.
bool bd_parse_int64(const char *text, int64_t *out);
// Parses the formats of C (also inf, nan and hexadecimal), in any locale; out of range is false, underflow is
// not.
bool bd_parse_double(const char *text, double *out);

#endif
