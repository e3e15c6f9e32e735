// The messages Example and SequenceExample (tensorflow/core/example) as they lie in memory, read without a
// copy.
//
//     Example { Features features = 1 }    Features { map<string, Feature> feature = 1 }
//     Feature { oneof { BytesList 1, FloatList 2, Int64List 3 } }          each list: repeated value = 1,
//     packed or not
//     SequenceExample { Features context = 1, FeatureLists feature_lists = 2 }
//     FeatureLists { map<string, FeatureList> feature_list = 1 }            FeatureList { repeated Feature
//     feature = 1 }
#ifndef BD_OPS_PARSING_EXAMPLE_WIRE_H
#define BD_OPS_PARSING_EXAMPLE_WIRE_H

#include "tensor/tensor.h"

// A message within memory that is not owned. `data` is NULL for a missing message (an empty one has an
// address).
typedef struct bd_span {
    const uint8_t *data;
    size_t len;
} bd_span;

// Calls fn(arg, key, value) for each entry of the maps in fields `field` of the message; those of an Example
// are in its field 1. A key may occur several times; the last one counts. Returns false when the message is
// malformed.
typedef void (*bd_span_entry_fn)(void *arg, bd_span key, bd_span value);
bool bd_span_entries(bd_span message, uint32_t field, bd_span_entry_fn fn, void *arg);

// Removes the next Feature from the front of a FeatureList. Returns false at its end, or with *malformed set.
bool bd_span_next_feature(bd_span *list, bd_span *feature, bool *malformed);

// Returns the type and the number of a Feature's values: BRAID_STRING, BRAID_FLOAT, BRAID_INT64, or
// BRAID_INVALID when the Feature is empty. Returns false when it is malformed.
bool bd_feature_scan(bd_span feature, braid_dtype *dtype, int64_t *count);

// Writes the values of a Feature that was scanned as elements of `t` (of its type) from `at` on. False when
// memory is short.
bool bd_feature_read(bd_span feature, const braid_tensor *t, int64_t at);

#endif
