// Which field of a TensorProto holds the values of which element type.
#include "tensor/tensor_form.h"

static const struct value_form forms[] = {
    [BRAID_FLOAT] = {VALUE_FIXED, 5, 4, 1},      [BRAID_DOUBLE] = {VALUE_FIXED, 6, 8, 1},
    [BRAID_INT32] = {VALUE_SIGNED, 7, 4, 1},     [BRAID_UINT8] = {VALUE_UNSIGNED, 7, 1, 1},
    [BRAID_INT16] = {VALUE_SIGNED, 7, 2, 1},     [BRAID_INT8] = {VALUE_SIGNED, 7, 1, 1},
    [BRAID_STRING] = {VALUE_STRING, 8, 0, 1},    [BRAID_COMPLEX64] = {VALUE_FIXED, 9, 4, 2},
    [BRAID_INT64] = {VALUE_SIGNED, 10, 8, 1},    [BRAID_BOOL] = {VALUE_UNSIGNED, 11, 1, 1},
    [BRAID_QINT8] = {VALUE_SIGNED, 7, 1, 1},     [BRAID_QUINT8] = {VALUE_UNSIGNED, 7, 1, 1},
    [BRAID_QINT32] = {VALUE_SIGNED, 7, 4, 1},    [BRAID_BFLOAT16] = {VALUE_UNSIGNED, 13, 2, 1},
    [BRAID_QINT16] = {VALUE_SIGNED, 7, 2, 1},    [BRAID_QUINT16] = {VALUE_UNSIGNED, 7, 2, 1},
    [BRAID_UINT16] = {VALUE_UNSIGNED, 7, 2, 1},  [BRAID_COMPLEX128] = {VALUE_FIXED, 12, 8, 2},
    [BRAID_HALF] = {VALUE_UNSIGNED, 13, 2, 1},   [BRAID_RESOURCE] = {VALUE_HANDLE, 14, 0, 1},
    [BRAID_VARIANT] = {VALUE_VARIANT, 15, 0, 1}, [BRAID_UINT32] = {VALUE_UNSIGNED, 16, 4, 1},
    [BRAID_UINT64] = {VALUE_UNSIGNED, 17, 8, 1},
};

struct value_form value_form_of(int dtype)
{
    if (dtype < 0 || dtype >= (int)(sizeof forms / sizeof *forms))
        return (struct value_form){.kind = VALUE_NONE};
    return forms[dtype];
}
