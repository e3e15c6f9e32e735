// Recyclers: objects of one type that are made and freed at every step come from a list of those that were freed before, so that a
// step in the steady state asks the system for nothing.
//
// A recycler is a static variable, for the life of the process: `static bd_recycler calls = BD_RECYCLER(call);`. Any thread.
#ifndef BD_BASE_RECYCLER_H
#define BD_BASE_RECYCLER_H

#include "base/thread.h"
#include <stddef.h>

typedef struct bd_recycler {
    bd_mutex mu;
    size_t size; // of an object
    void *first; // guarded by mu; free objects, each starts with a pointer to the next
    int count;   // guarded by mu; of the free ones
} bd_recycler;

// What a burst leaves beyond this many objects goes back to the system.
#define BD_RECYCLER_KEEPS 256

#define BD_RECYCLER(type)                                                                                    \
    {                                                                                                        \
        .mu = BD_MUTEX_INIT, .size = sizeof(type)                                                            \
    }

// An object full of zeros.
void *bd_recycler_take(bd_recycler *r) __attribute__((returns_nonnull));
// NULL is accepted.
void bd_recycler_give(bd_recycler *r, void *object);

#endif
