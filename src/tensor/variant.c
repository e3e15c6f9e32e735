// The end of variants.
#include "tensor/variant.h"

// A list in a list in a list, made by a loop, may be deeper than a stack: beyond this depth on a thread the
// inner ones are freed later.
#define NESTED_MAX 64

void bd_variant_destroy(bd_variant *v)
{
    static _Thread_local int depth;
    static _Thread_local bd_variant *waiting;
    if (depth == NESTED_MAX) {
        v->next = waiting;
        waiting = v;
        return;
    }
    depth++;
    v->type->destroy(v);
    while (depth == 1 && waiting) {
        bd_variant *next = waiting;
        waiting = next->next;
        next->type->destroy(next);
    }
    depth--;
}
