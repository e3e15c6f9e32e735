// Numbers written as text, in the forms that TensorFlow takes.
#ifndef BD_OPS_COMMON_TEXT_NUMBER_H
#define BD_OPS_COMMON_TEXT_NUMBER_H

#include "tensor/tensor.h"

// Parses the whole text, surrounding blanks apart, as element `i` of a tensor of float, double, int32 or
// int64. Integers are decimal, with no sign but `-`; false for any other text or a number out of range. Reals
// may be hexadecimal integers, `inf` or `nan`, and become infinite when they are out of range.
bool bd_text_to_number(const char *text, size_t len, const braid_tensor *t, int64_t i);

#endif
