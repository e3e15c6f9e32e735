// Variants: reference-counted objects of a registered type, as elements of a tensor of dtype variant: a
// dataset, an optional, a list.
//
// An object is shared by all tensors that hold it and immutable once it is in one (exception: tensor_list.h).
// It lives in the process that made it: on the wire only its type's name is sent, and the reader refuses it
// by that name. Tensor lists are sent as copies.
#ifndef BD_TENSOR_VARIANT_H
#define BD_TENSOR_VARIANT_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct bd_variant bd_variant;

// A kind of variant: one constant, whose address identifies the kind.
typedef struct bd_variant_type {
    const char *name;               // as TensorFlow registers it: "tensorflow::TensorList"
    void (*destroy)(bd_variant *v); // at the last unref, on any thread
} bd_variant_type;

// First member of every variant.
struct bd_variant {
    const bd_variant_type *type;
    atomic_int refs;
    bd_variant *next; // in the list of variants that are freed later
};

static inline void bd_variant_init(bd_variant *v, const bd_variant_type *type)
{
    v->type = type;
    v->next = NULL;
    atomic_init(&v->refs, 1);
}
static inline bd_variant *bd_variant_ref(bd_variant *v)
{
    if (v) atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}
// For bd_variant_unref only: destroys it at once or, when variants are nested deeply, after the variants that
// hold it.
void bd_variant_destroy(bd_variant *v);
static inline void bd_variant_unref(bd_variant *v)
{
    if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) bd_variant_destroy(v);
}
// For messages: "an empty variant" for NULL.
static inline const char *bd_variant_type_name(const bd_variant *v)
{
    return v ? v->type->name : "an empty variant";
}

#endif
