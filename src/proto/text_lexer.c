// The tokens of protobuf's text format: cutting the text, and escapes of string literals.
//
// Letters and digits are ASCII's in every locale.
#include "proto/text_lexer.h"

#include "base/alloc.h"
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex_value(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

braid_code bd_text_fail(const bd_text_lexer *lexer, const char *at, const char *format, ...)
{
    size_t line = 1, column = 1;
    for (const char *c = lexer->begin; c < at; c++) {
        line += *c == '\n';
        column = *c == '\n' ? 1 : column + 1;
    }
    va_list args;
    va_start(args, format);
    char *what = bd_vasprintf(format, args);
    va_end(args);
    braid_code code = bd_fail(lexer->st, BRAID_INVALID_ARGUMENT, "Text of %s, line %zu, column %zu: %s",
                              lexer->message, line, column, what);
    bd_free(what);
    return code;
}

// ---- Tokens ----

static void skip_space(bd_text_lexer *x)
{
    for (; x->next < x->end; x->next++) {
        if (*x->next == '#') {
            const char *line_end = memchr(x->next, '\n', (size_t)(x->end - x->next));
            x->next = line_end ? line_end : x->end - 1;
        } else if (*x->next != ' ' && (*x->next < '\t' || *x->next > '\r')) {
            return;
        }
    }
}

// The character `ahead` of the next one, 0 behind the end.
static char peek(const bd_text_lexer *x, size_t ahead)
{
    return ahead < (size_t)(x->end - x->next) ? x->next[ahead] : 0;
}

static void skip_digits(bd_text_lexer *x)
{
    while (is_digit(peek(x, 0)))
        x->next++;
}

static braid_code take_hex(bd_text_lexer *x)
{
    x->next += 2;
    if (hex_value(peek(x, 0)) < 0)
        return bd_text_fail(x, x->token.text, "\"0x\" must be followed by hex digits");
    while (hex_value(peek(x, 0)) >= 0)
        x->next++;
    return BRAID_OK;
}

static braid_code take_decimal(bd_text_lexer *x)
{
    skip_digits(x);
    if (peek(x, 0) == '.') {
        x->token.kind = BD_TEXT_FLOAT;
        x->next++;
        skip_digits(x);
    }
    if (peek(x, 0) == 'e' || peek(x, 0) == 'E') {
        x->token.kind = BD_TEXT_FLOAT;
        x->next += peek(x, 1) == '-' || peek(x, 1) == '+' ? 2 : 1;
        if (!is_digit(peek(x, 0))) return bd_text_fail(x, x->token.text, "\"e\" must be followed by digits");
        skip_digits(x);
    }
    if (peek(x, 0) == 'f' || peek(x, 0) == 'F') {
        x->token.kind = BD_TEXT_FLOAT;
        x->next++;
    }
    return BRAID_OK;
}

static braid_code take_number(bd_text_lexer *x)
{
    x->token.kind = BD_TEXT_INTEGER;
    bool is_hex = peek(x, 0) == '0' && (peek(x, 1) == 'x' || peek(x, 1) == 'X');
    braid_code code = is_hex ? take_hex(x) : take_decimal(x);
    if (code) return code;
    if (is_letter(peek(x, 0)) || peek(x, 0) == '.')
        return bd_text_fail(x, x->next, "there must be a space between a number and '%c'", *x->next);
    const bd_text_token *t = &x->token;
    size_t len = (size_t)(x->next - t->text);
    if (is_hex || t->kind != BD_TEXT_INTEGER || t->text[0] != '0') return BRAID_OK;
    for (size_t i = 0; i < len; i++) {
        if (t->text[i] > '7')
            return bd_text_fail(x, t->text, "numbers that begin with 0 are octal: '%.*s' is none",
                                len > 40 ? 40 : (int)len, t->text);
    }
    return BRAID_OK;
}

static braid_code take_string(bd_text_lexer *x)
{
    const char quote = *x->next;
    x->token.kind = BD_TEXT_STRING;
    for (x->next++; x->next < x->end && *x->next != quote; x->next++) {
        if (*x->next == '\\' && x->next + 1 < x->end && x->next[1] != '\n') x->next++;
        if (*x->next == '\n')
            return bd_text_fail(x, x->token.text,
                                "the string does not end on its line (write \\n for a new line)");
    }
    if (x->next == x->end) return bd_text_fail(x, x->token.text, "the string does not end");
    x->next++;
    return BRAID_OK;
}

braid_code bd_text_next(bd_text_lexer *x)
{
    skip_space(x);
    x->token = (bd_text_token){.kind = BD_TEXT_END, .text = x->next};
    if (x->next == x->end) return BRAID_OK;
    const char c = *x->next;
    braid_code code = BRAID_OK;
    if (is_letter(c)) {
        x->token.kind = BD_TEXT_IDENTIFIER;
        while (is_letter(peek(x, 0)) || is_digit(peek(x, 0)))
            x->next++;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(x, 1)))) {
        code = take_number(x);
    } else if (c == '"' || c == '\'') {
        code = take_string(x);
    } else if (c > ' ' && c < 127) {
        x->token.kind = BD_TEXT_SYMBOL;
        x->next++;
    } else {
        return bd_text_fail(x, x->next, "the byte 0x%02x occurs outside of a string: this is not text format",
                            (uint8_t)c);
    }
    x->token.len = (size_t)(x->next - x->token.text);
    return code;
}

braid_code bd_text_lexer_init(bd_text_lexer *x, const char *message, const char *text, size_t len,
                              braid_status *st)
{
    *x = (bd_text_lexer){.begin = text, .next = text, .end = text + len, .message = message, .st = st};
    return bd_text_next(x);
}

// ---- Escapes ----

// Reads exactly `digits` hex digits. Returns false when there are fewer before `end`.
static bool get_hex(const char **at, const char *end, int digits, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++) {
        int digit = *at < end ? hex_value(**at) : -1;
        if (digit < 0) return false;
        *value = *value << 4 | (uint32_t)digit;
        ++*at;
    }
    return true;
}

static uint8_t *put_utf8(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (uint8_t)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        *out++ = (uint8_t)(0xe0 | c >> 12);
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    } else {
        *out++ = (uint8_t)(0xf0 | c >> 18);
        *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    }
    *out++ = (uint8_t)(0x80 | (c & 0x3f));
    return out;
}

// \uXXXX and \UXXXXXXXX; two of the former may be the halves of a character (UTF-16).
static bool get_unicode(const char **at, const char *end, uint8_t **out)
{
    uint32_t c, low;
    const char letter = *(*at)++;
    if (!get_hex(at, end, letter == 'u' ? 4 : 8, &c) || c > 0x10ffff) return false;
    const char *next = *at;
    if (c >= 0xd800 && c < 0xdc00 && end - next >= 6 && next[0] == '\\' && next[1] == 'u') {
        next += 2;
        if (get_hex(&next, end, 4, &low) && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            *at = next;
        }
    }
    *out = put_utf8(*out, c);
    return true;
}

static bool get_numeric(const char **at, const char *end, uint8_t **out)
{
    uint32_t value = 0;
    if (**at == 'x' || **at == 'X') {
        ++*at;
        int digits = 0;
        for (; digits < 2 && *at < end && hex_value(**at) >= 0; digits++)
            value = value << 4 | (uint32_t)hex_value(*(*at)++);
        *(*out)++ = (uint8_t)value;
        return digits > 0;
    }
    for (int digits = 0; digits < 3 && *at < end && **at >= '0' && **at <= '7'; digits++)
        value = value << 3 | (uint32_t)(*(*at)++ - '0');
    *(*out)++ = (uint8_t)value;
    return value <= 0xff;
}

// Reads the characters after a backslash. Returns false for an invalid escape.
static bool get_escape(const char **at, const char *end, uint8_t **out)
{
    static const char letters[] = "abfnrtv\\?'\"", meaning[] = "\a\b\f\n\r\t\v\\?'\"";
    const char c = **at;
    const char *simple = c ? strchr(letters, c) : NULL;
    if (simple) {
        *(*out)++ = (uint8_t)meaning[simple - letters];
        ++*at;
        return true;
    }
    if (c == 'u' || c == 'U') return get_unicode(at, end, out);
    if (c == 'x' || c == 'X' || (c >= '0' && c <= '7')) return get_numeric(at, end, out);
    return false;
}

braid_code bd_text_unescape(const bd_text_lexer *lexer, const bd_text_token *token, uint8_t *out, size_t *len)
{
    const char *at = token->text + 1, *end = token->text + token->len - 1;
    uint8_t *to = out;
    while (at < end) {
        if (*at != '\\') {
            *to++ = (uint8_t)*at++;
            continue;
        }
        const char *escape = at++;
        if (!get_escape(&at, end, &to)) {
            size_t shown = (size_t)(end - escape);
            return bd_text_fail(lexer, escape, "bad escape in a string: '%.*s'", shown > 10 ? 10 : (int)shown,
                                escape);
        }
    }
    *len = (size_t)(to - out);
    return BRAID_OK;
}
