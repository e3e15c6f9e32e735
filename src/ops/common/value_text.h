// Single values as TensorFlow writes them for people, in Print, Assert, PrintV2 and StringFormat.
#ifndef BD_OPS_COMMON_VALUE_TEXT_H
#define BD_OPS_COMMON_VALUE_TEXT_H

#include "tensor/tensor.h"

// Appends element `at`: floats with six digits, or eight, as the flag says; booleans as 1 and 0; strings in
// quotes.
void bd_value_text(const braid_tensor *t, int64_t at, bd_strbuf *out);

// Appends a string, with C's escapes for unprintable bytes, quotes and backslashes.
void bd_escaped_text(const bd_string *s, bd_strbuf *out);

#endif
