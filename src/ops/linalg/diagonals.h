// The geometry of several neighbouring diagonals (a band) of matrices, for MatrixDiagV2, MatrixDiagPartV2,
// MatrixSetDiagV2 and their V3.
//
// Diagonal 0 is the main diagonal; indices above it are positive, below it negative. Several diagonals form a
// matrix whose first row is the highest diagonal. Its rows have the length of the longest diagonal: shorter
// ones are aligned left, or (V3, by attr `align`) right.
#ifndef BD_OPS_LINALG_DIAGONALS_H
#define BD_OPS_LINALG_DIAGONALS_H

#include "graph/graph.h"

typedef struct bd_band {
    int64_t lower, upper;
    int64_t rows, columns, length; // rows and columns of the matrices; length of the longest diagonal
    bool above_left, below_left;   // whether diagonals above (below) the main one are aligned left
} bd_band;

static inline int64_t bd_band_count(const bd_band *b)
{
    return b->upper - b->lower + 1;
}

// Reads attr `align`; without the attr all diagonals are aligned left.
void bd_band_align(bd_band *b, const braid_op *node);
bool bd_band_starts_left(const bd_band *b, int64_t d);

// The length of diagonal `d` (0 or less if it lies outside of the matrix), and of the longest diagonal of the
// band.
int64_t bd_band_length_of(const bd_band *b, int64_t d);
int64_t bd_band_longest(const bd_band *b);

// Sets the size of the matrices from the length of the longest diagonal. `rows` and `columns` are given or
// -1: then they are the least possible size, or a square if both are -1. Returns NULL, or the reason why the
// size does not fit.
const char *bd_band_size(bd_band *b, int64_t rows, int64_t columns);

// The shape of the band's diagonals in matrices of shape `matrices`.
braid_shape bd_band_shape(const bd_band *b, const braid_shape *matrices);
// Sets *out to the shape of the matrices with diagonals of shape `diagonals`. False when it has too many
// dimensions.
bool bd_band_matrices(const bd_band *b, const braid_shape *diagonals, braid_shape *out);

#endif
