// What a fuzzer's input chooses: numbers, texts, shapes and tensors, most of them ordinary and small, some
// hostile.
#ifndef BD_TESTS_FUZZ_CHOICES_H
#define BD_TESTS_FUZZ_CHOICES_H

#include "base/random.h"
#include "graph/attr.h"

typedef struct choices {
    const uint8_t *data; // what is still to be taken of the input
    size_t len;
    bd_rng rng;             // goes on behind it
    braid_shape last_shape; // several tensors of one shape fit together
    bd_arena arena;         // of texts
} choices;

uint64_t choose_below(choices *p, uint64_t n); // [0, n)
bool choose_one_in(choices *p, uint64_t n);
int64_t choose_int(choices *p);
int64_t choose_hostile_int(choices *p);
double choose_number(choices *p);
braid_dtype choose_type(choices *p, bd_dtype_set set);
bd_bytes choose_bytes(choices *p);
braid_shape choose_shape(choices *p);
braid_tensor *choose_tensor(choices *p, braid_dtype type); // the caller frees it

#endif
