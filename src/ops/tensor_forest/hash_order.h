// The order in which GNU's C++ library gives back whole numbers from an unordered_set: TensorFlow's trees
// grow their nodes in this order.
//
// A bucket's numbers follow each other in one list of all. A new number goes to the front of its bucket,
// or of the list if the bucket is empty.
#ifndef BD_OPS_TENSOR_FOREST_HASH_ORDER_H
#define BD_OPS_TENSOR_FOREST_HASH_ORDER_H

#include "base/array.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct bd_hash_order_entry {
    int32_t number, next; // next: an index; -1: the end
} bd_hash_order_entry;

typedef struct bd_hash_order {
    BD_ARRAY(bd_hash_order_entry) entries; // as they were added
    int32_t first;                         // of the list; -1
    int32_t *before;                       // [buckets] the entry before a bucket's first; -1: none; -2: empty
    size_t buckets;
} bd_hash_order;

bd_hash_order bd_hash_order_new(void);
void bd_hash_order_free(bd_hash_order *h);

// Adds a number that is not negative, unless it is there. Returns its index, from 0 on as they were added.
int32_t bd_hash_order_add(bd_hash_order *h, int32_t number);

#endif
