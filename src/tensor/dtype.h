// Element types: sizes, names and the sets in which op definitions name them.
#ifndef BD_TENSOR_DTYPE_H
#define BD_TENSOR_DTYPE_H

#include <braid/tensor.h>

#define BD_REF_OFFSET 100

static inline bool bd_dtype_is_ref(braid_dtype t)
{
    return (int)t > BD_REF_OFFSET;
}
static inline bool bd_dtype_is_complex(braid_dtype t)
{
    return t == BRAID_COMPLEX64 || t == BRAID_COMPLEX128;
}
static inline braid_dtype bd_dtype_base(braid_dtype t)
{
    return bd_dtype_is_ref(t) ? (braid_dtype)((int)t - BD_REF_OFFSET) : t;
}
static inline braid_dtype bd_dtype_ref(braid_dtype t)
{
    return bd_dtype_is_ref(t) ? t : (braid_dtype)((int)t + BD_REF_OFFSET);
}

// True for the 23 base types and their reference forms.
bool bd_dtype_is_valid(int number);

// Parses "float", "int32_ref", "DT_FLOAT"; BRAID_INVALID for any other text.
braid_dtype bd_dtype_parse(const char *name, size_t len);

// A set of base types, one bit a type (bit number = DataType number).
typedef uint32_t bd_dtype_set;
#define BD_DTYPE_BIT(t) ((bd_dtype_set)1 << (t))

// float, double, integers, complex, half, bfloat16 and the quantized types: op definitions' `{number}`.
extern const bd_dtype_set bd_dtypes_number;
// The real ones among them: `{realnumber}`.
extern const bd_dtype_set bd_dtypes_realnumber;
// The integers among these, with and without sign, but not the quantized ones.
extern const bd_dtype_set bd_dtypes_integer;

#endif
