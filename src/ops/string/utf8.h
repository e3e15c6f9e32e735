// UTF-8 in strings: counting characters as TensorFlow does, and changing case.
#ifndef BD_OPS_STRING_UTF8_H
#define BD_OPS_STRING_UTF8_H

#include "op/kernel.h"

// Whether the byte continues a character; any other byte begins one. So each string, also one that is not
// UTF-8, has characters.
static inline bool bd_utf8_is_trail(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

// The characters of a text.
int64_t bd_utf8_length(const char *text, size_t len);

// Moves *pos forward by `n` characters, or to the end of the text, or back by `n`, or to its beginning.
// Whether it got so far; never for a negative n.
bool bd_utf8_forward(const char *text, size_t len, int64_t n, size_t *pos);
bool bd_utf8_back(const char *text, int64_t n, size_t *pos);

// Makes element `i` of `y` the text in upper or lower case by Unicode's full mappings, independent of
// language; bytes that are not UTF-8 become U+FFFD. False: the kernel has failed.
bool bd_utf8_change_case(bd_op_ctx *c, const braid_tensor *y, int64_t i, const bd_string *text,
                         bool to_upper);

#endif
