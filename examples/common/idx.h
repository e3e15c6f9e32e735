// The idx files in which MNIST comes: a magic number, counts, then bytes.
#ifndef IDX_H
#define IDX_H

#include <braid/status.h>
#include <stdbool.h>
#include <stdint.h>

// Reads DIR/NAME, plain or gzipped, also as NAME.gz: `rank` dimensions of unsigned bytes. Stores the
// dimensions and returns the content (free() it); NULL on an error: NotFound naming the files it tried,
// DataLoss with the kind of damage.
uint8_t *idx_read(const char *dir, const char *name, int rank, int64_t *dims, braid_status *status);

#endif
