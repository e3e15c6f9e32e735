// Floating point numbers as text, in the fewest digits that read back as the same.
#ifndef BD_PROTO_TEXT_NUMBER_H
#define BD_PROTO_TEXT_NUMBER_H

#include "base/strbuf.h"

// As Python prints numbers, and so TensorFlow's text files: 1.0, 0.1, 1e-05, 1e+16, inf, nan.
void bd_text_put_double(bd_strbuf *out, double value);
void bd_text_put_float(bd_strbuf *out, float value);

#endif
