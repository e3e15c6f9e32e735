// Small bundles for tests, with checks. All of them fail the test on an error.
#ifndef BD_IO_TESTING_BUNDLE_CASE_H
#define BD_IO_TESTING_BUNDLE_CASE_H

#include "io/bundle.h"

// Setup and teardown of a cmocka test: a disk in memory.
int bd_case_install(void **state);
int bd_case_uninstall(void **state);

bd_tensor_slice bd_case_slice_of(const char *text);
// A float tensor whose elements count from `first`.
braid_tensor bd_case_floats(braid_shape shape, float first);

bd_bundle_writer *bd_case_open_writer(const char *prefix);
void bd_case_finish(bd_bundle_writer *w); // and free it
void bd_case_add_floats(bd_bundle_writer *w, const char *name, braid_shape shape, float first);
// The slice `text` of a tensor of shape `full` whose elements count from 0.
void bd_case_add_part(bd_bundle_writer *w, const char *name, braid_shape full, const char *text);

bd_bundle *bd_case_open_bundle(const char *prefix);
void bd_case_expect_floats(bd_bundle *b, const char *name, braid_shape shape, float first);
void bd_case_expect_part(bd_bundle *b, const char *name, braid_shape full, const char *text);
// That opening or reading fails so.
void bd_case_expect_read_error(const char *prefix, const char *name, braid_code code, const char *words);

// The index and data of a checkpoint of the scalars a = 0.5, b = 2 and c = 3 as TensorFlow wrote them (the
// half_plus_two model of its serving system), and a bundle of the same.
#define BD_CASE_INDEX_LEN 151
#define BD_CASE_DATA_LEN 12
extern const uint8_t bd_case_index[BD_CASE_INDEX_LEN], bd_case_data[BD_CASE_DATA_LEN];
void bd_case_write_published(const char *prefix);

#endif
