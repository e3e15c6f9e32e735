// Growable arrays of any type: `BD_ARRAY(int) a = {0}; bd_array_push(&a, 7); a.items[0]; bd_array_free(&a);`
#ifndef BD_BASE_ARRAY_H
#define BD_BASE_ARRAY_H

#include "base/alloc.h"

// An anonymous struct type; name it by typedef where it crosses functions. Zero-initialized is empty.
#define BD_ARRAY(...)                                                                                        \
    struct {                                                                                                 \
        __VA_ARGS__ *items;                                                                                  \
        size_t len, cap;                                                                                     \
    }

// Appends a value (evaluated once).
#define bd_array_push(a, ...)                                                                                \
    do {                                                                                                     \
        bd_array_reserve((a), (a)->len + 1);                                                                 \
        (a)->items[(a)->len++] = (__VA_ARGS__);                                                              \
    } while (0)

// Makes room for at least `n` items in all.
#define bd_array_reserve(a, n)                                                                               \
    ((void)((n) > (a)->cap ? ((a)->items = bd_array_grow((a)->items, sizeof *(a)->items, &(a)->cap, (n)))    \
                           : NULL))

// Frees the memory; the array is empty and usable afterwards. The caller frees what the items point to.
#define bd_array_free(a) (bd_free((a)->items), (a)->items = NULL, (a)->len = (a)->cap = 0, (void)0)

// For the macros: `items` with room for at least `need` of `item_size` bytes, doubling *cap.
void *bd_array_grow(void *items, size_t item_size, size_t *cap, size_t need);

#endif
