// Which field of a TensorProto holds the values of which element type: shared by its reader and its writer.
#ifndef BD_TENSOR_TENSOR_FORM_H
#define BD_TENSOR_TENSOR_FORM_H

#include <braid/tensor.h>
#include <stdint.h>

// Field numbers of TensorProto.
enum {
    TENSOR_DTYPE = 1,
    TENSOR_SHAPE = 2,
    TENSOR_CONTENT = 4
};
// Field numbers of TensorShapeProto and its Dim.
enum {
    SHAPE_DIM = 2,
    SHAPE_UNKNOWN_RANK = 3,
    DIM_SIZE = 1
};
// Field numbers of ResourceHandleProto.
enum {
    HANDLE_DEVICE = 1,
    HANDLE_CONTAINER = 2,
    HANDLE_NAME = 3,
    HANDLE_HASH_CODE = 4,
    HANDLE_TYPE_NAME = 5
};
// Field numbers of VariantTensorDataProto.
enum {
    VARIANT_TYPE_NAME = 1,
    VARIANT_METADATA = 2,
    VARIANT_TENSORS = 3
};

enum value_kind {
    VALUE_NONE,     // an unknown or unsupported type
    VALUE_FIXED,    // float, double: as they lie in memory
    VALUE_SIGNED,   // varints, sign-extended
    VALUE_UNSIGNED, // varints
    VALUE_STRING,
    VALUE_HANDLE,
    VALUE_VARIANT
};

struct value_form {
    uint8_t kind;
    uint8_t field;       // of TensorProto
    uint8_t unit;        // bytes of a value in memory
    uint8_t per_element; // values an element takes: 2 for complex
};

// VALUE_NONE for types that no tensor can have.
struct value_form value_form_of(int dtype);

#endif
