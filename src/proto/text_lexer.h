// The tokens of protobuf's text format.
#ifndef BD_PROTO_TEXT_LEXER_H
#define BD_PROTO_TEXT_LEXER_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

typedef enum bd_text_kind {
    BD_TEXT_END,
    BD_TEXT_IDENTIFIER,
    BD_TEXT_INTEGER, // decimal, 0x hexadecimal or 0 octal
    BD_TEXT_FLOAT,   // with a point, an exponent or an 'f' behind it
    BD_TEXT_STRING,  // one literal with its quotes; not yet unescaped
    BD_TEXT_SYMBOL   // one character
} bd_text_kind;

typedef struct bd_text_token {
    bd_text_kind kind;
    const char *text; // in the lexer's text
    size_t len;
} bd_text_token;

typedef struct bd_text_lexer {
    const char *begin, *next, *end; // the text (borrowed), and its unread part
    const char *message;            // the name of the message, for errors
    bd_text_token token;            // the current one
    braid_status *st;               // not owned
} bd_text_lexer;

// Starts at the first token.
braid_code bd_text_lexer_init(bd_text_lexer *lexer, const char *message, const char *text, size_t len,
                              braid_status *st);

// Moves to the next token. InvalidArgument for an invalid one.
braid_code bd_text_next(bd_text_lexer *lexer);

// Writes the value of a string token to `out`, which has room for token->len bytes; *len is the number
// written. InvalidArgument for a bad escape.
braid_code bd_text_unescape(const bd_text_lexer *lexer, const bd_text_token *token, uint8_t *out,
                            size_t *len);

// InvalidArgument, with the line and column of `at`, which is in the lexer's text.
braid_code bd_text_fail(const bd_text_lexer *lexer, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
