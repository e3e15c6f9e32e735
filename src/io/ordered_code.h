// Ordered code: encodes numbers and strings as bytes with the order of the values. Keys of slices in
// checkpoints use it.
//
// A number is its length in bytes and then its bytes, highest first. The leading bits of a signed number hold
// sign and length, as in UTF-8: n bytes hold 7n bits. In a string the bytes 0 and 255 are escaped (00 ff, ff
// 00), and it ends with 00 01.
#ifndef BD_IO_ORDERED_CODE_H
#define BD_IO_ORDERED_CODE_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void bd_ordered_put_number(bd_strbuf *out, uint64_t value);
void bd_ordered_put_signed(bd_strbuf *out, int64_t value);
void bd_ordered_put_string(bd_strbuf *out, const void *data, size_t len);

// Read at *at and move past the value. Return false, with *at unchanged, when no whole value ends before
// `end`, or when it is not in the form that the functions above write.
bool bd_ordered_get_number(const uint8_t **at, const uint8_t *end, uint64_t *value);
bool bd_ordered_get_signed(const uint8_t **at, const uint8_t *end, int64_t *value);
bool bd_ordered_get_string(const uint8_t **at, const uint8_t *end,
                           bd_strbuf *out); // appends; on false, anything

#endif
